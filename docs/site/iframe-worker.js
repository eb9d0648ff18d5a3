/* Search in a site that is opened from a folder. Browsers start no worker for the scheme file:, so that this class
   runs the script of one in a hidden frame. Pages from a server keep the browser's Worker. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const inside = frame.contentWindow;
      this.ready = new Promise((resolve) => (inside.loaded = resolve));
      window.addEventListener("message", (event) => {
        if (event.source !== inside) return;
        const message = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      });
      inside.document.open();
      inside.document.write(`<body><script>
        postMessage = (data) => parent.dispatchEvent(new MessageEvent("message", { data, source: window }));
        importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((resolve, reject) => {
          const script = document.createElement("script");
          script.src = url;
          script.onload = resolve;
          script.onerror = reject;
          document.body.appendChild(script);
        })), Promise.resolve());
      </script><script src="${url}" onload="loaded()"></script></body>`);
      inside.document.close();
      this.frame = frame;
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
