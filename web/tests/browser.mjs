// The page in Chromium: files, a microphone that plays a file, refusals, dropped models.
//
//   node browser.mjs FOLDER [SECONDS]   pictures go to FOLDER

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

import { load } from "../dist/node.js";
import { runningSum } from "./onnx.mjs";
import { serve } from "./serve.mjs";

const kRoot = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
const kSamples = fileURLToPath(new URL("../../tests/models/vad_speech/samples/", import.meta.url));
const kSound = join(kSamples, "noisy_speech_5db.wav");
const kPlan = fileURLToPath(new URL("../../build/wasm_run/vad_speech/f32/model.rill", import.meta.url));
const kPlanDescription = "A stream along S, 480 frames.*Time of a step.*µs.*STFT";
const kPage = fileURLToPath(new URL("../../build/wasm/page.html", import.meta.url));
const pictures = process.argv[2] ?? "/tmp";
const seconds = Number(process.argv[3] ?? 60);
mkdirSync(pictures, { recursive: true });

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Return the samples of a file of one channel of 16 bits with a header of 44 bytes. */
function samplesOf(path) {
  const bytes = readFileSync(path);
  const words = new Int16Array(bytes.buffer.slice(bytes.byteOffset + 44, bytes.byteOffset + bytes.length));
  return Float32Array.from(words, (word) => word / 32768);
}

/** Return the segments of speech of a whole run, found like those of a stream in the page. */
async function expectedSegments(path) {
  const model = await load(readFileSync(join(kRoot, "demo/vad_speech.nnef.tgz")));
  const { speech } = model.run(samplesOf(path));
  const all = [];
  speech.data.forEach((probability, i) => {
    if (probability < 0.5) return;
    if (all.length === 0 || all.at(-1)[1] !== i) all.push([i, i + 1]);
    else all.at(-1)[1] = i + 1;
  });
  return all;
}

/** Open a sound file in a page, and compare its segments. */
async function hear(page) {
  await (await page.$("#file")).uploadFile(kSound);
  await page.waitForFunction(() => document.getElementById("message").textContent === "The file has ended.",
                             { timeout: 60000 });
  const found = JSON.parse(await page.evaluate(() => document.body.dataset.segments))
    .map(({ begin, end }) => [Math.round(begin * 100), Math.round(end * 100)]);
  const expected = await expectedSegments(kSound);
  // Frames of an incomplete pulse at the end of the file are not reported.
  assert.deepEqual(found.slice(0, -1), expected.slice(0, found.length - 1));
  assert.ok(found.length >= expected.length - 1, `${found.length} segments of ${expected.length}`);
  console.log(`file: ${found.length} segments as in the whole run`);
}

/** Let the audio thread of a page run a compiled model over a file, and compare its frames. */
async function hearCompiled(page) {
  const sound = samplesOf(kSound);
  const expected = (await load(readFileSync(kPlan))).stream().push(sound).speech;
  const found = await page.evaluate(async (plan, samples) => {
    const { RillNode } = await import("../dist/audio.js");
    const bytes = Uint8Array.from(atob(plan), (letter) => letter.charCodeAt(0));
    const context = new OfflineAudioContext(1, samples.length, 16000);
    const refused = async (options) => RillNode.create(context, bytes, options).then(() => "", String);
    const errors = [await refused({}), await refused({ rate: 16000, pulse: 160 })];
    const node = await RillNode.create(context, bytes, { rate: 16000 });
    const buffer = new AudioBuffer({ length: samples.length, sampleRate: 16000 });
    buffer.copyToChannel(Float32Array.from(samples), 0);
    const source = new AudioBufferSourceNode(context, { buffer });
    const frames = [];
    node.onframes = ({ data }) => frames.push(...data);
    source.connect(node);
    source.start();
    await context.startRendering();
    await new Promise((resolve) => setTimeout(resolve, 500));
    return { frames, errors };
  }, readFileSync(kPlan).toString("base64"), [...sound]);
  assert.match(found.errors[0], /rate/);
  assert.match(found.errors[1], /480 frames/);
  // The last pulse is not reported if the sound ends within a quantum.
  assert.ok(found.frames.length > expected.length - 6, `${found.frames.length} of ${expected.length}`);
  assert.deepEqual(found.frames, [...expected].slice(0, found.frames.length));
  console.log(`compiled model in the audio thread: ${found.frames.length} frames of ${expected.length}`);
}

/** Make a page describe a model, and wait for the description. */
async function lookInto(page, path, pattern) {
  await (await page.$("#model-file")).uploadFile(path);
  await page.waitForFunction((text) => new RegExp(text, "s").test(document.getElementById("look").innerText),
                             { timeout: 20000 }, pattern);
}

async function open(browser, address, faults) {
  const page = await browser.newPage();
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (line) => line.type() === "error" && faults.push(line.text()));
  await page.goto(address);
  await page.waitForFunction(() => document.getElementById("message").textContent === "Ready.");
  return page;
}

const { server, address } = await serve(kRoot);
const chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
const common = ["--no-sandbox", "--autoplay-policy=no-user-gesture-required"];
const faults = [];
const browser = await puppeteer.launch({
  executablePath: chromium, headless: true,
  args: [...common, "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream",
         `--use-file-for-fake-audio-capture=${kSound}`],
});
try {
  const page = await open(browser, `${address}/demo/`, faults);
  await page.setViewport({ width: 1100, height: 900 });

  // A file gives the segments of the whole run, also in the bundled page, without a server.
  await hear(page);
  const offline = await open(browser, pathToFileURL(kPage).href, faults);
  await hear(offline);
  await lookInto(offline, kPlan, kPlanDescription);
  await offline.close();
  await hearCompiled(page);

  // A microphone, for a while.
  await page.click("#microphone");
  await page.waitForFunction(() => Number(document.body.dataset.quanta) > 2000, { timeout: 60000 });
  await page.screenshot({ path: join(pictures, "wide_light.png") });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  await wait(300);
  await page.screenshot({ path: join(pictures, "wide_dark.png") });
  await page.setViewport({ width: 390, height: 844 });
  await wait(300);
  await page.screenshot({ path: join(pictures, "narrow_dark.png") });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
  await wait(300);
  await page.screenshot({ path: join(pictures, "narrow_light.png") });
  const figures = await page.$$eval(".figures dd", (all) => all.map((each) => `${each.id}: ${each.textContent}`));
  for (const [id, pattern] of [["delay", /ms, and up to .*ms to fill a pulse$/], ["late", / of \d+ quanta$/],
                               ["times", /median .*99\u00a0% .*longest .* ms$/], ["memory", /KiB, all of the module \d+ KiB$/]]) {
    assert.match(figures.find((each) => each.startsWith(`${id}: `)), pattern);
  }
  const memory = await page.$eval("#memory", (element) => element.textContent);
  await wait(1000 * seconds);
  const { quanta, late } = await page.evaluate(() => ({ ...document.body.dataset }));
  assert.ok(Number(quanta) > seconds * 300, `${quanta} quanta`);
  assert.equal(await page.$eval("#memory", (element) => element.textContent), memory);
  console.log(`microphone: ${late} of ${quanta} quanta late, times ${await page.$eval("#times", (e) => e.textContent)}`);

  // Keys choose the other tab; it describes a model, and reports files that are not models.
  await page.click("#stop");
  await page.focus("#tab-listen");
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.$eval("#look", (element) => element.hidden), false);
  const look = (path, pattern) => lookInto(page, path, pattern);
  await look(join(kRoot, "demo/vad_speech.nnef.tgz"), "Time of a step.*µs.*STFT");
  await page.screenshot({ path: join(pictures, "look.png"), fullPage: true });
  await look(kPlan, kPlanDescription);
  const onnx = join(pictures, "sum.onnx");
  writeFileSync(onnx, runningSum());
  await look(onnx, "state_out.*sum.onnx: .+|sum.onnx: .+state_out");
  console.log(`no stream: ${await page.$eval("#look-message", (element) => element.textContent)}`);
  const cut = join(pictures, "cut.nnef.tgz");
  writeFileSync(cut, readFileSync(join(kRoot, "demo/vad_speech.nnef.tgz")).subarray(0, 5000));
  await look(cut, "cut.nnef.tgz: .+");
  console.log(`cut: ${await page.$eval("#look-message", (element) => element.textContent)}`);
  const none = join(pictures, "none.bin");
  writeFileSync(none, "this is no model");
  await look(none, "none.bin: .+");
  console.log(`no model: ${await page.$eval("#look-message", (element) => element.textContent)}`);
  // A file that is not a sound.
  await page.click("#tab-listen");
  await (await page.$("#file")).uploadFile(none);
  await page.waitForFunction(() => document.getElementById("message").className === "fault");
  console.log(`no sound: ${await page.$eval("#message", (element) => element.textContent)}`);
  assert.deepEqual(faults, []);
} finally {
  await browser.close();
}

// A visitor who refuses the microphone.
const refusing = await puppeteer.launch({
  executablePath: chromium, headless: true,
  args: [...common, "--use-fake-device-for-media-stream", "--deny-permission-prompts"],
});
try {
  const page = await open(refusing, `${address}/demo/`, faults);
  await page.click("#microphone");
  await page.waitForFunction(() => document.getElementById("message").className === "fault");
  const text = await page.$eval("#message", (element) => element.textContent);
  assert.match(text, /refused/);
  console.log(`refused: ${text}`);
  assert.deepEqual(faults, []);
} finally {
  await refusing.close();
  server.close();
}
