/**
 * Edits of the colours alone: the light of another hour, another mood, the tones of an old photograph, one colour for
 * another. Each is a function from colour to colour, with a mask if it applies to a part of the image.
 */
import { adjust, fromLab, hex, hueOf, mix, tint, toLab } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { changeColours } from '../analysis/colour-cube.ts';
import { guided, lightPlane, mapPlane, planeOf, smoothStep } from '../analysis/planes.ts';
import type { Plane } from '../analysis/planes.ts';
import type { Tone } from './plan-rules.ts';
import type { Workpiece } from './workpiece.ts';

/** Light and dark spread around a middle value: 1 changes nothing. */
export function contrasted(colour: Colour, strength: number, middle = 118): Colour {
  return [
    middle + (colour[0] - middle) * strength,
    middle + (colour[1] - middle) * strength,
    middle + (colour[2] - middle) * strength,
  ];
}

/** An S-curve over the lightness: shadows down, lights up, both ends fixed. */
function curved(colour: Colour, strength: number): Colour {
  const [lightness, greenRed, blueYellow] = toLab(colour);
  const bent = lightness + strength * Math.sin((lightness - 0.5) * Math.PI * 2) * 0.1;
  return fromLab([bent, greenRed, blueYellow]);
}

/** Shadows towards one colour, lights towards another. */
export function split(colour: Colour, shadows: Colour, lights: Colour, share: number): Colour {
  const [lightness] = toLab(colour);
  return tint(colour, mix(shadows, lights, smoothStep(0.2, 0.85, lightness)), share);
}

/** Like film behind a yellow filter: blue skies darker, warm colours lighter, so that hues stay distinct as greys. */
function panchromatic(colour: Colour): Colour {
  const [lightness, greenRed, blueYellow] = toLab(colour);
  return fromLab([lightness + blueYellow * 0.45 + greenRed * 0.12, greenRed, blueYellow]);
}

const TONES: Record<Tone, (colour: Colour) => Colour> = {
  sepia: (colour) => {
    const [lightness] = toLab(colour);
    return fromLab([0.1 + lightness * 0.87, 0.018 + lightness * 0.006, 0.05 + 0.02 * Math.sin(lightness * Math.PI)]);
  },
  mono: (colour) => fromLab([toLab(curved(panchromatic(colour), 0.75))[0], 0, 0]),
  noir: (colour) => contrasted(fromLab([toLab(curved(colour, 1.1))[0] - 0.05, 0, 0]), 1.35),
  warm: (colour) => mix(colour, [colour[0] * 1.12 + 8, colour[1] * 1.0 + 2, colour[2] * 0.72], 0.85),
  cool: (colour) => mix(colour, [colour[0] * 0.78, colour[1] * 0.99, colour[2] * 1.14 + 10], 0.85),
  bright: (colour) => adjust(colour, 0.1 + 0.06 * (1 - toLab(colour)[0]), 1.06),
  dark: (colour) => adjust([colour[0] * 0.62, colour[1] * 0.62, colour[2] * 0.64], -0.02, 1.04),
  contrast: (colour) => adjust(curved(curved(colour, 1), 0.6), 0, 1.14),
  flat: (colour) => adjust(mix(colour, hex('#a59f9a'), 0.26), 0.05, 0.82),
  vivid: (colour) => adjust(curved(colour, 0.45), 0, 1.5),
  muted: (colour) => adjust(colour, 0.01, 0.45),
  pastel: (colour) => adjust(mix(colour, hex('#fff3f6'), 0.42), 0.04, 0.95),
  negative: (colour) => [255 - colour[0], 255 - colour[1], 255 - colour[2]],
  vintage: (colour) => {
    const faded = adjust(curved(colour, 0.5), 0.02, 0.62);
    return mix(split(faded, hex('#3d3554'), hex('#f6d9a0'), 0.45), hex('#e8cf9f'), 0.12);
  },
  cinema: (colour) =>
    contrasted(split(adjust(curved(colour, 0.8), -0.02, 1.05), hex('#0e5a66'), hex('#f3a765'), 0.42), 1.06),
  // Colours that are already strong gain nothing.
  enhance: (colour) =>
    adjust(curved(colour, 0.35), 0.02, 1.02 + 0.16 * (1 - smoothStep(0.04, 0.16, hueOf(colour).chroma))),
};

/** Gives the whole image a tone. */
export function applyTone(work: Workpiece, tone: Tone): void {
  if (tone === 'enhance') stretch(work);
  changeColours(work.pixels, TONES[tone]);
}

/** The darkest and the lightest hundredth become black and white, if the change is small. */
function stretch(work: Workpiece): void {
  const light = lightPlane(work.pixels);
  const sorted = light.values.filter((_, index) => index % 17 === 0).sort();
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? share;
  const [low, high] = [Math.min(0.08, at(0.005)), Math.max(0.9, at(0.995))];
  const gain = 1 / Math.max(0.4, high - low);
  changeColours(work.pixels, (colour) => colour.map((value) => (value - low * 255) * gain) as unknown as Colour);
}

const SKY = /\b(sky|heaven|clouds?)\b/;
const GREENS = /\b(grass|lawn|leaf|leaves|trees?|foliage|plants?|meadow|field|forest|bush\w*|ivy|moss)\b/;
const WATER = /\b(water|sea|ocean|lake|river|pool|waves?)\b/;
const BACKDROP = /\b(background|backdrop|wall|surroundings)\b/;
const WHOLE =
  /^(it|this|all|all of it|everything|the whole.*|whole.*|.*\b(picture|image|photo|scene|light|lighting|mood|tone|tones)\b.*|)$/;

/** How far each pixel's hue belongs to a range, weak colours less. */
function hueMask(work: Workpiece, centre: number, reach: number, weakest = 0.03): Plane {
  const { pixels } = work;
  const { width, height, data } = pixels;
  const mask = planeOf(width, height);
  const cube = new Map<number, number>();
  for (let index = 0; index < mask.values.length; index++) {
    const position = index * 4;
    const key =
      (((data[position] ?? 0) >> 3) << 10) | (((data[position + 1] ?? 0) >> 3) << 5) | ((data[position + 2] ?? 0) >> 3);
    let value = cube.get(key);
    if (value === undefined) {
      const { angle, chroma } = hueOf([data[position] ?? 0, data[position + 1] ?? 0, data[position + 2] ?? 0]);
      const far = Math.abs(Math.atan2(Math.sin(angle - centre), Math.cos(angle - centre)));
      value = (1 - smoothStep(reach * 0.7, reach, far)) * smoothStep(weakest * 0.6, weakest * 1.5, chroma);
      cube.set(key, value);
    }
    mask.values[index] = value;
  }
  return guided(lightPlane(pixels), mask, Math.max(1, Math.round(Math.max(width, height) / 400)), 0.0002);
}

/** The strongest hue within the subject, and how strong it is there. */
function leadingHue(work: Workpiece): { angle: number; strength: number; chroma: number } {
  const { data } = work.pixels;
  const { mask } = work.subject;
  const [bins, chromas] = [new Float32Array(36), new Float32Array(36)];
  let total = 0.001;
  for (let index = 0; index < mask.values.length; index += 7) {
    const inside = mask.values[index] ?? 0;
    if (inside < 0.3) continue;
    const { angle, chroma } = hueOf([data[index * 4] ?? 0, data[index * 4 + 1] ?? 0, data[index * 4 + 2] ?? 0]);
    const bin = Math.floor(((angle + Math.PI) / (2 * Math.PI)) * 35.99);
    const weight = inside * Math.max(0, chroma - 0.03) ** 1.5;
    bins[bin] = (bins[bin] ?? 0) + weight;
    chromas[bin] = (chromas[bin] ?? 0) + weight * chroma;
    total += inside;
  }
  const around = (bin: number): number =>
    [-1, 0, 1].reduce((sum, step) => sum + (bins[(bin + step + 36) % 36] ?? 0), 0);
  const best = bins.reduce((most, _, bin) => (around(bin) > around(most) ? bin : most), 0);
  const chroma = (chromas[best] ?? 0) / Math.max(1e-6, bins[best] ?? 0);
  return { angle: ((best + 0.5) / 36) * 2 * Math.PI - Math.PI, strength: around(best) / total, chroma };
}

/** Gives the parts of one hue another colour; light and shade stay. */
function repainted(colour: Colour, target: Colour, from: number): Colour {
  const [lightness, greenRed, blueYellow] = toLab(colour);
  const [light, targetGreenRed, targetBlueYellow] = toLab(target);
  const old = Math.hypot(greenRed, blueYellow);
  const wanted = Math.hypot(targetGreenRed, targetBlueYellow);
  // As strong in the new hue as it was in the old, so that lights and greys of the thing remain.
  const share = Math.min(1.25, (old + 0.02) / 0.15);
  const shifted = lightness + (light - from) * 0.72 * Math.max(0.25, 1 - Math.abs(lightness - from));
  return fromLab([
    Math.max(0.02, Math.min(0.98, shifted)),
    targetGreenRed * (wanted < 0.03 ? 1 : share),
    targetBlueYellow * (wanted < 0.03 ? 1 : share),
  ]);
}

function multiply(one: Plane, other: Plane): Plane {
  return mapPlane(one, (value, index) => value * (other.values[index] ?? 0));
}

function meanLight(work: Workpiece, mask: Plane): number {
  const { data } = work.pixels;
  let [sum, weight] = [0, 0.001];
  for (let index = 0; index < mask.values.length; index += 11) {
    const share = mask.values[index] ?? 0;
    if (share < 0.2) continue;
    sum += toLab([data[index * 4] ?? 0, data[index * 4 + 1] ?? 0, data[index * 4 + 2] ?? 0])[0] * share;
    weight += share;
  }
  return sum / weight;
}

/** The pixels that a word of the prompt refers to; undefined for all of them. */
function findTarget(work: Workpiece, target: string, from: Colour | undefined): Plane | undefined {
  if (SKY.test(target) && work.sky.share > 0) return work.sky.mask;
  if (from !== undefined) {
    const { angle, chroma } = hueOf(from);
    if (chroma > 0.03) return hueMask(work, angle, 0.6);
  }
  if (GREENS.test(target)) return hueMask(work, hueOf(hex('#6ea24c')).angle, 0.75);
  if (WATER.test(target)) {
    const blue = hueMask(work, hueOf(hex('#2c6f93')).angle, 0.8);
    return work.sky.share > 0
      ? multiply(
          blue,
          mapPlane(work.sky.mask, (value) => 1 - value),
        )
      : blue;
  }
  if (BACKDROP.test(target)) return mapPlane(work.subject.mask, (value) => 1 - value);
  if (WHOLE.test(target)) return undefined;
  const { angle, strength, chroma } = leadingHue(work);
  const subject = work.subject.mask;
  if (strength < 0.002) return subject;
  // The whole thing and not only the detected part of it: nearby pixels of its hue belong to it too.
  const hue = hueMask(work, angle, 0.5, Math.max(0.03, chroma * 0.5));
  return work.subject.clarity > 0.14
    ? multiply(
        hue,
        mapPlane(subject, (value) => Math.min(1, value * 1.4 + 0.1)),
      )
    : hue;
}

/** Gives the target of the prompt another colour. */
export function recolour(work: Workpiece, edit: { target: string; colour: Colour; from?: Colour }): void {
  const mask = findTarget(work, edit.target, edit.from);
  if (mask === undefined) {
    changeColours(work.pixels, (colour) =>
      split(adjust(colour, 0, 0.5), adjust(edit.colour, -0.12), edit.colour, 0.85),
    );
    return;
  }
  const isSky = mask === work.sky.mask;
  const middle = meanLight(work, mask);
  changeColours(
    work.pixels,
    (colour) => (isSky ? tint(adjust(colour, -0.04), edit.colour, 0.88) : repainted(colour, edit.colour, middle)),
    mask,
  );
}
