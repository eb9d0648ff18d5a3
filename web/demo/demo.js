// The page: passes sound to the detector, draws its probabilities, and describes models.

import { RillNode } from "../dist/audio.js";
import { Picture } from "./picture.js";
import { showModel } from "./look.js";

const kModel = new URL("./vad_speech.nnef.tgz", import.meta.url);
const kRate = 16000;
const kPulse = 480;

const byId = (id) => document.getElementById(id);
const say = (text, fault = false) => {
  byId("message").textContent = text;
  byId("message").className = fault ? "fault" : "";
};

/** The current listener. */
let run = null;
const picture = new Picture(byId("picture"));

function sentenceFor(error) {
  switch (error.name) {
    case "NotAllowedError": return "The microphone was refused. Allow it for this page, or open a file.";
    case "NotFoundError": return "There is no microphone. Open a sound file instead.";
    case "NotReadableError": return "The microphone is taken by another program.";
    case "EncodingError": return "This file is not a sound that the browser can read.";
    default: return error.hint ? `${error.message}` : `Something failed: ${error.message}`;
  }
}

async function listen(open, options = {}) {
  await stop();
  say("Starting…");
  const begun = performance.now();
  const context = new AudioContext({ latencyHint: "interactive", ...options });
  const mine = (run = { context, node: null, source: null, stop: null });
  try {
    const source = await open(context, mine);
    const answer = await fetch(kModel);
    if (!answer.ok) throw new Error(`cannot read ${kModel.pathname}: ${answer.status}`);
    const node = await RillNode.create(context, await answer.arrayBuffer(),
                                       { rate: kRate, symbols: { B: 1 }, pulse: kPulse });
    if (run !== mine) return void node.close();
    mine.node = node;
    const wave = new AnalyserNode(context, { fftSize: 2048 });
    // Render nothing before all nodes are connected and started: silence before the sound would shift
    // its frames.
    await context.suspend();
    source.connect(node);
    source.connect(wave);
    picture.start(context, wave, node);
    node.onframes = (frames) => {
      picture.add(frames);
      byId("now").textContent = `${Math.round(100 * frames.data[frames.count - 1])} %`;
    };
    node.onfail = (error) => fail(error);
    describe(node, context);
    mine.times = setInterval(() => showTimes(node, context), 500);
    byId("stop").disabled = false;
    mine.begin?.();
    await context.resume();
    say(`Listening since ${Math.round(performance.now() - begun)} ms after the click.`);
  } catch (error) {
    // A listener that was stopped meanwhile fails for that reason; do not stop the listener after it.
    if (run === mine) fail(error);
  }
}

function fail(error) {
  console.warn(error);
  say(sentenceFor(error), true);
  stop();
}

async function stop() {
  const last = run;
  run = null;
  byId("stop").disabled = true;
  if (!last) return;
  clearInterval(last.times);
  last.node?.close();
  last.stop?.();
  picture.stop();
  if (last.context.state !== "closed") await last.context.close();
}

function describe(node, context) {
  const { delaySeconds, pulseSeconds, memory, bytes, streams } = node.info;
  const ms = (seconds) => `${(1000 * seconds).toFixed(1)} ms`;
  byId("quantum").textContent = ms(128 / context.sampleRate);
  byId("delay").textContent = `${ms(delaySeconds)}, and up to ${ms(pulseSeconds)} to fill a pulse`;
  byId("memory").textContent =
    `${Math.round((memory.weights + memory.state + memory.arena + memory.buffers) / 1024)} KiB, ` +
    `all of the module ${Math.round(bytes / 1024)} KiB`;
  byId("latency").textContent =
    `The change from ${context.sampleRate} to ${kRate} samples a second looks ` +
    `${ms(delaySeconds - streams[0].delayInputFrames / kRate)} ahead; the model itself looks ` +
    `${streams[0].delayInputFrames} samples ahead. A step runs once a pulse of ` +
    `${streams[0].inputPulse} samples is full, so that a frame waits up to ${ms(pulseSeconds)} more.`;
}

async function showTimes(node, context) {
  const { times, step } = await node.times();
  const all = times.reduce((sum, count) => sum + count, 0);
  if (all === 0) return;
  const at = (share) => {
    let left = share * all;
    return step * (times.findIndex((count) => (left -= count) <= 0) + 1);
  };
  // Audio threads of most browsers have a clock with a resolution of a millisecond.
  const { clock } = node.info;
  const ms = (seconds) => {
    if (clock) return (1000 * seconds).toFixed(2);
    return seconds < 0.001 ? "under 1" : (1000 * seconds).toFixed(0);
  };
  const budget = 128 / context.sampleRate;
  const late = times.reduce((sum, count, i) => sum + (i * step >= budget ? count : 0), 0);
  byId("times").textContent = `median ${ms(at(0.5))}, 99\u00a0% ${ms(at(0.99))}, longest ${ms(at(1))} ms`;
  byId("late").textContent = `${late} of ${all} quanta`;
  document.body.dataset.quanta = all;
  document.body.dataset.late = late;
}

async function microphone(context, mine) {
  if (!navigator.mediaDevices) {
    throw new Error("this page has no microphone: it has to come from localhost or by https");
  }
  const media = await navigator.mediaDevices.getUserMedia({
    audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false },
  });
  mine.stop = () => media.getTracks().forEach((track) => track.stop());
  media.getTracks()[0].onended = () => fail(new Error("the microphone is gone"));
  return new MediaStreamAudioSourceNode(context, { mediaStream: media });
}

const fileOpener = (file) => async (context, mine) => {
  const buffer = await context.decodeAudioData(await file.arrayBuffer());
  const source = new AudioBufferSourceNode(context, { buffer });
  source.connect(context.destination);
  mine.begin = () => source.start();
  source.onended = () => {
    if (run !== mine) return;
    // Frames of the last pulse are on their way.
    setTimeout(() => run === mine && stop().then(() => say("The file has ended.")), 300);
  };
  return source;
};

byId("microphone").onclick = () => listen(microphone);
byId("stop").onclick = () => stop().then(() => say("Stopped."));
// Decode files at the model's rate, so that the model gets the unchanged samples of a file of that rate.
const listenToFile = (file) => listen(fileOpener(file), { sampleRate: kRate });
byId("file").onchange = ({ target }) => target.files[0] && listenToFile(target.files[0]);
byId("model-file").onchange = ({ target }) => target.files[0] && look(target.files[0]);

const tabs = [byId("tab-listen"), byId("tab-look")];
function choose(tab) {
  for (const each of tabs) {
    const chosen = each === tab;
    each.setAttribute("aria-selected", String(chosen));
    each.tabIndex = chosen ? 0 : -1;
    byId(each.getAttribute("aria-controls")).hidden = !chosen;
  }
}
for (const tab of tabs) {
  tab.onclick = () => choose(tab);
  tab.onkeydown = (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const other = tabs[1 - tabs.indexOf(tab)];
    choose(other);
    other.focus();
  };
}

async function look(file) {
  choose(byId("tab-look"));
  const message = byId("look-message");
  message.className = "";
  message.textContent = `Reading ${file.name}…`;
  byId("report").replaceChildren();
  try {
    await showModel(byId("report"), await file.arrayBuffer(),
                    { symbol: byId("symbol").value, pulse: byId("pulse").value,
                      constants: byId("constants").value });
    message.textContent = file.name;
  } catch (error) {
    message.className = "fault";
    message.textContent = `${file.name}: ${error.message}`;
  }
}

document.body.ondragover = (event) => {
  event.preventDefault();
  document.body.classList.add("dropping");
};
document.body.ondragleave = () => document.body.classList.remove("dropping");
document.body.ondrop = (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  const file = event.dataTransfer.files[0];
  if (!file) return;
  const sound = file.type.startsWith("audio/") || /\.(wav|mp3|ogg|flac|m4a|webm)$/i.test(file.name);
  if (sound && !byId("listen").hidden) listenToFile(file);
  else look(file);
};
// A tab in the background draws nothing; the audio thread continues.
document.addEventListener("visibilitychange", () => picture.redraw());
say("Ready.");
