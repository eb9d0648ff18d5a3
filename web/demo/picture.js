// Draws the last seconds: waveform, probability, and segments of speech.

const kSeconds = 10;
const kThreshold = 0.5;
const kKept = 500;

/** Finds segments of speech from probabilities, frame by frame, and keeps the last segment that ended, and the
 *  number of segments. */
export class Segments {
  constructor() {
    this.all = [];
    this.count = 0;
    this.open = false;
  }
  /** Take the probability of a frame between two times, in seconds. */
  add(probability, begin, end) {
    const speech = probability >= kThreshold;
    if (speech && !this.open) {
      this.count += 1;
      this.all.push({ begin, end });
      if (this.all.length > kKept) this.all.shift();
    }
    if (speech) this.all[this.all.length - 1].end = end;
    this.open = speech;
  }
}

export class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.segments = new Segments();
    this.drawing = false;
    this.wave = [];
    this.frames = [];
    this.list = document.getElementById("segments");
    new ResizeObserver(() => this.redraw()).observe(canvas);
  }

  start(context, analyser, node) {
    this.context = context;
    this.analyser = analyser;
    this.perFrame = node.info.streams[0].rateDenominator / node.info.streams[0].rateNumerator / 16000;
    this.begin = context.currentTime;
    this.samples = new Float32Array(analyser.fftSize);
    this.segments = new Segments();
    this.wave = [];
    this.frames = [];
    this.list.replaceChildren();
    this.listed = 0;
    this.reportedEnd = null;
    document.getElementById("count").textContent = 0;
    document.body.dataset.segments = "[]";
    this.drawing = true;
    const draw = () => {
      if (!this.drawing) return;
      this.hear();
      this.redraw();
      requestAnimationFrame(draw);
    };
    requestAnimationFrame(draw);
  }
  stop() {
    this.drawing = false;
    this.redraw();
  }

  /** Take frames that the node reported. */
  add({ frame, count, data, time }) {
    for (let i = 0; i < count; ++i) {
      const end = time(i) - this.begin;
      this.frames.push({ end, probability: data[i] });
      this.segments.add(data[i], (frame + i) * this.perFrame, (frame + i + 1) * this.perFrame);
    }
    while (this.frames.length > 0 && this.frames[0].end < this.frames.at(-1).end - kSeconds - 1) {
      this.frames.shift();
    }
    this.report();
  }

  report() {
    const { list, segments } = this;
    const last = segments.all.at(-1);
    if (!last || last.end === this.reportedEnd) return;
    this.reportedEnd = last.end;
    document.getElementById("count").textContent = segments.count;
    document.body.dataset.segments = JSON.stringify(segments.all);
    for (; this.listed < segments.count; ++this.listed) list.append(document.createElement("li"));
    while (list.children.length > segments.all.length) list.firstChild.remove();
    list.start = segments.count - segments.all.length + 1;
    list.lastChild.textContent = `${last.begin.toFixed(2)} s to ${last.end.toFixed(2)} s`;
  }

  hear() {
    this.analyser.getFloatTimeDomainData(this.samples);
    let peak = 0;
    for (const sample of this.samples) peak = Math.max(peak, Math.abs(sample));
    const now = this.context.currentTime - this.begin;
    this.wave.push({ at: now, peak });
    while (this.wave[0].at < now - kSeconds - 1) this.wave.shift();
  }

  redraw() {
    if (document.hidden) return;
    const { canvas } = this;
    const ratio = globalThis.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const style = getComputedStyle(canvas);
    const colour = (name) => style.getPropertyValue(name);
    const draw = canvas.getContext("2d");
    draw.setTransform(ratio, 0, 0, ratio, 0, 0);
    draw.clearRect(0, 0, width, height);
    const now = Math.max(kSeconds, this.wave.at(-1)?.at ?? 0, this.frames.at(-1)?.end ?? 0);
    const x = (time) => width * (1 - (now - time) / kSeconds);
    const middle = height * 0.28;
    const floor = height - 24;
    const top = height * 0.58;
    draw.font = "12px system-ui, sans-serif";

    draw.fillStyle = colour("--band");
    for (const frame of this.frames) {
      if (frame.probability < kThreshold) continue;
      const left = x(frame.end - this.perFrame);
      draw.fillRect(left, 0, x(frame.end) - left + 0.6, floor);
    }

    draw.strokeStyle = colour("--line");
    draw.fillStyle = colour("--faint");
    draw.lineWidth = 1;
    for (let second = Math.ceil(now - kSeconds); second <= now; ++second) {
      const at = Math.round(x(second)) + 0.5;
      draw.beginPath();
      draw.moveTo(at, 0);
      draw.lineTo(at, floor);
      draw.stroke();
      draw.fillText(`${second} s`, at + 3, height - 8);
    }
    const half = Math.round(floor - kThreshold * (floor - top)) + 0.5;
    draw.setLineDash([4, 4]);
    draw.beginPath();
    draw.moveTo(0, half);
    draw.lineTo(width, half);
    draw.stroke();
    draw.setLineDash([]);

    draw.strokeStyle = colour("--wave");
    draw.lineWidth = Math.max(1, width / (60 * kSeconds));
    draw.beginPath();
    for (const { at, peak } of this.wave) {
      const size = Math.max(0.5, Math.min(1, peak) * middle * 0.95);
      draw.moveTo(x(at), middle - size);
      draw.lineTo(x(at), middle + size);
    }
    draw.stroke();

    draw.strokeStyle = colour("--speech");
    draw.lineWidth = 2;
    draw.beginPath();
    for (const { end, probability } of this.frames) {
      draw.lineTo(x(end), floor - probability * (floor - top));
    }
    draw.stroke();
    draw.fillStyle = colour("--ink");
    draw.fillText("sound", 6, 14);
    draw.fillText("probability of speech", 6, top - 4);
  }
}
