// Conversion of sample rates, block by block, with a windowed sinc.

function gcd(a, b) {
  return b === 0 ? a : gcd(b, a % b);
}

/** The modified Bessel function of the first kind of order 0, for the Kaiser window. */
function bessel0(x) {
  let sum = 1;
  let term = 1;
  for (let k = 1; term > 1e-12 * sum; ++k) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

// Window parameter: 70 dB between the pass band and the stop band.
const kShape = 6.8;

/** Changes the rate of one channel. Nothing is allocated after the constructor.
 *  The pass band ends at 0.85 of half the lower rate, and the stop band begins at half of it. */
export class Resampler {
  /** @param {number} from samples per second of the input
   *  @param {number} to samples per second of the output
   *  @param {number} most the maximum number of samples per call
   *  @param {boolean} aligned whether output i is the sound at the time i / to, so that the first outputs wait for
   *    `lookahead` samples; else outputs begin at once, `delay` samples late */
  constructor(from, to, most, aligned = false) {
    if (!(from > 0 && to > 0 && from <= 768000 && to <= 768000)) {
      throw new RangeError(`expected rates of 1 to 768000 samples a second, found ${from} and ${to}`);
    }
    const whole = Number.isInteger(from) && Number.isInteger(to);
    const common = whole ? gcd(from, to) : 1;
    this.up = to / common;
    this.down = from / common;
    // Rates without a reasonably large common divisor use the nearest of 1024 phases.
    this.phases = whole && this.up <= 1024 ? this.up : 1024;
    const lower = Math.min(1, to / from);
    const half = Math.ceil(32 / lower);
    this.taps = from === to ? 1 : 2 * half;
    this.table = new Float32Array(this.phases * this.taps);
    this.history = new Float32Array(this.taps - 1 + most);
    /** The lag of the output, in samples of the input. */
    this.delay = from === to || aligned ? 0 : half;
    /** The later samples of the input that an aligned output needs. */
    this.lookahead = from === to ? 0 : half;
    this.before = aligned && from !== to ? half - 1 : this.taps - 1;
    this.reset();
    if (from === to) {
      this.table[0] = 1;
      return;
    }
    const cutoff = 0.93 * lower;
    for (let phase = 0; phase < this.phases; ++phase) {
      let sum = 0;
      for (let tap = 0; tap < this.taps; ++tap) {
        const t = tap - half + 1 - phase / this.phases;
        const inside = 1 - (t / half) ** 2;
        const window = inside > 0 ? bessel0(kShape * Math.sqrt(inside)) / bessel0(kShape) : 0;
        const sinc = t === 0 ? 1 : Math.sin(Math.PI * cutoff * t) / (Math.PI * cutoff * t);
        sum += this.table[phase * this.taps + tap] = cutoff * sinc * window;
      }
      for (let tap = 0; tap < this.taps; ++tap) this.table[phase * this.taps + tap] /= sum;
    }
  }

  /** Return the maximum number of output samples for `count` input samples. */
  maxSamples(count) {
    return Math.ceil((count * this.up) / this.down) + 1;
  }

  /** Return the output samples for the first `count` input samples; aligned, with integer rates. */
  count(count) {
    return Math.max(0, Math.ceil(((count - this.lookahead) * this.up) / this.down));
  }
  /** Return the input samples for the first `count` output samples; aligned, with integer rates. */
  needed(count) {
    return count < 1 ? 0 : Math.floor(((count - 1) * this.down) / this.up) + 1 + this.lookahead;
  }

  /** Resample the first `count` samples of `input` into `output`, starting at `offset`. Return the
   *  number of samples written. */
  process(input, count, output, offset = 0) {
    const { history, table, taps, phases } = this;
    for (let i = 0; i < count; ++i) history[this.kept + i] = input[i];
    const have = this.kept + count;
    let made = 0;
    while (this.at + taps <= have) {
      const row = Math.floor((this.phase * phases) / this.up) * taps;
      let sum = 0;
      for (let tap = 0; tap < taps; ++tap) sum += table[row + tap] * history[this.at + tap];
      output[offset + made++] = sum;
      this.phase += this.down;
      const steps = Math.floor(this.phase / this.up);
      this.at += steps;
      this.phase -= steps * this.up;
    }
    const from = Math.min(this.at, have);
    history.copyWithin(0, from, have);
    this.kept = have - from;
    this.at -= from;
    return made;
  }

  reset() {
    this.history.fill(0);
    this.kept = this.before;
    this.at = 0;
    this.phase = 0;
  }
}
