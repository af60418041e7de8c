/**
 * The subject of an image in front of another background: a painted scene, a plain colour, nothing; and the image
 * without its subject.
 */
import { createCanvas } from '@napi-rs/canvas';
import type { Canvas } from '@napi-rs/canvas';
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { compose } from '../composition.ts';
import { COLOURS } from '../lexicon-qualities.ts';
import { choosePalette } from '../palette.ts';
import type { Palette } from '../palette.ts';
import { changeColours } from '../analysis/colour-cube.ts';
import { canvasOf, pixelsIn } from '../analysis/input-images.ts';
import { findNamed } from '../analysis/named-thing.ts';
import { readPrompt } from '../prompt-reading.ts';
import { paintScene } from '../scene-painting.ts';
import { stageFor } from '../scene-stage.ts';
import { fillSubject } from './completion.ts';
import { split } from './tones.ts';
import type { Workpiece } from './workpiece.ts';

/** A scene for a text at the size of the image. */
function sceneOf(work: Workpiece, words: string): { canvas: Canvas; palette: Palette } {
  const reading = readPrompt(words);
  const random = work.random.fork(`background ${words}`);
  const composition = compose(reading, random.fork('composition'));
  const palette = choosePalette(reading, composition.time, composition.season, random.fork('palette'));
  const canvas = createCanvas(work.width, work.height);
  const stage = stageFor(canvas.getContext('2d'), composition, { palette, style: 'natural', detail: 'high' }, random);
  paintScene(stage, composition);
  canvas.getContext('2d').setTransform(1, 0, 0, 1, 0, 0);
  return { canvas, palette };
}

/** Draws the subject over a canvas, with the shadow that it casts. */
function layOver(work: Workpiece, canvas: Canvas, shadow: Colour): void {
  const { width, height, subject, pixels } = work;
  const context = canvas.getContext('2d');
  if (subject.bottom < 0.97) {
    const [x, y] = [((subject.left + subject.right) / 2) * width, subject.bottom * height];
    const reach = ((subject.right - subject.left) / 2) * width * 1.05;
    context.save();
    context.translate(x, y);
    context.scale(1, 0.16);
    const soft = context.createRadialGradient(0, 0, reach * 0.2, 0, 0, reach);
    soft.addColorStop(0, css(shadow, 0.55));
    soft.addColorStop(1, css(shadow, 0));
    context.fillStyle = soft;
    context.fillRect(-reach, -reach, reach * 2, reach * 2);
    context.restore();
  }
  const data = Uint8ClampedArray.from(pixels.data);
  for (let index = 0; index < width * height; index++) data[index * 4 + 3] = (subject.mask.values[index] ?? 0) * 255;
  context.drawImage(canvasOf({ width, height, data }), 0, 0);
  work.replace(pixelsIn(canvas));
}

/** Puts the subject in front of the background that a text describes: `plain white`, `a beach at sunset`. */
export function changeBackground(work: Workpiece, words: string): void {
  const plain = /\b(?:plain|solid|pure|clean|simple|just|completely|all)\b/.test(words) || !/\s/.test(words.trim());
  const colour = words
    .split(/\s+/)
    .map((word) => COLOURS.get(word))
    .find((code) => code !== undefined);
  if (colour !== undefined && (plain || readPrompt(words).mentions.length === 0)) return onPlain(work, hex(colour));
  // Analysed before its colours change.
  work.analyse();
  const { canvas, palette } = sceneOf(work, words);
  // The subject takes on a little of its new light.
  changeColours(work.pixels, (one) => {
    const lit = mix(
      one,
      [(one[0] * palette.light[0]) / 255, (one[1] * palette.light[1]) / 255, (one[2] * palette.light[2]) / 255],
      0.6,
    );
    return split(lit, palette.land, palette.rim, palette.isDark ? 0.22 : 0.1);
  });
  layOver(work, canvas, adjust(palette.land, -0.12));
}

function onPlain(work: Workpiece, colour: Colour): void {
  const canvas = createCanvas(work.width, work.height);
  const context = canvas.getContext('2d');
  const { width, height } = work;
  const light = context.createRadialGradient(
    width * 0.5,
    height * 0.4,
    0,
    width * 0.5,
    height * 0.5,
    Math.hypot(width, height) * 0.6,
  );
  light.addColorStop(0, css(adjust(colour, 0.03)));
  light.addColorStop(1, css(adjust(colour, -0.05)));
  context.fillStyle = light;
  context.fillRect(0, 0, width, height);
  layOver(work, canvas, adjust(colour, -0.35));
}

/** Removes everything but the subject, on a light ground. */
export function removeBackground(work: Workpiece): void {
  onPlain(work, hex('#f4f4f2'));
}

/** Above this share of the image, below this clarity, or filling less of its box, a subject is more than one thing. */
const ONE_THING = 0.22;
const CLEAR = 0.3;
const FILLED = 0.3;
/** Above this share nothing would be left of the image: an uncertain guess of one thing is better. */
const MOST = 0.4;

/** Removes the thing that a text names, or the subject if it names no known thing; fills the gap. */
export function removeSubject(work: Workpiece, words = ''): void {
  const { subject, pixels } = work;
  const covered = subject.mask.values.reduce((sum, value) => sum + value, 0) / subject.mask.values.length;
  const [mention] = readPrompt(words).mentions;
  const box = (subject.right - subject.left) * (subject.bottom - subject.top);
  const isOne = covered < ONE_THING && subject.clarity >= CLEAR && covered > box * FILLED;
  const named = mention === undefined || isOne ? undefined : findNamed(pixels, mention);
  const isSure = named !== undefined && (named.clarity >= CLEAR || covered > MOST);
  fillSubject(pixels, isSure ? named : subject, work.random.fork('removal'));
}
