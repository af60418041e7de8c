/**
 * The engine of `darkroom/poster`: a scene in a few inks, in one of three layouts, under or over a large title; if the
 * input contains an image, that one is printed instead. The title is the first quotation, else the first known thing;
 * the line below is the second quotation, else the other understood words.
 */
import { createCanvas } from '@napi-rs/canvas';
import type { Canvas } from '@napi-rs/canvas';
import type { EngineWork, RenderedFile } from '../engine.ts';
import { adjust, css, lightness } from './colour.ts';
import { compose, placeLight } from './composition.ts';
import type { Composition } from './composition.ts';
import { encodeCanvas } from './encode.ts';
import { chooseInks, inkPalette } from './inks.ts';
import type { Inks } from './inks.ts';
import { isLetterable } from './fonts.ts';
import { letter, requireLetterable } from './lettering.ts';
import { printWith } from './print.ts';
import { readPrompt } from './prompt-reading.ts';
import type { PromptReading } from './prompt-reading.ts';
import { createRandom, hashText } from '@darkroom/seeded-random/random';
import type { Random } from '@darkroom/seeded-random/random';
import { paintScene } from './scene-painting.ts';
import { namedSize, pixelSize } from './sizes.ts';
import { readImage } from './analysis/input-images.ts';
import { printImage } from './image-print.ts';
import type { Context, Stage } from './stage.ts';

/** Pixels of the longer side of a printed image: the largest poster. */
const LARGEST_IMAGE = 4096;

type LayoutName = 'framed' | 'full' | 'arch';

interface Frame {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Title and line of a poster. */
function wordsOf(reading: PromptReading, prompt: string, composition: Composition): { title: string; line: string } {
  const [first, second] = reading.quotations;
  const things = reading.mentions.map(({ thing }) => thing);
  const spoken = prompt
    .replace(/[^\p{L}\p{N}\s'’-]/gu, ' ')
    .trim()
    .split(/\s+/u)
    .slice(0, 3)
    .join(' ');
  const title = first ?? things[0] ?? (spoken !== '' && isLetterable(spoken) ? spoken : 'Untitled');
  const rest = first === undefined ? things.slice(1, 4) : things.slice(0, 3);
  const line = second ?? [...rest, composition.time].join(' · ');
  return { title: inCapitals(title), line: inCapitals(line) };
}

/** In capitals, if an installed font has them: some scripts got theirs only recently. */
function inCapitals(text: string): string {
  const capitals = text.toUpperCase();
  return isLetterable(capitals) ? capitals : text;
}

/** Paints the scene at the size of its window and prints it with the inks. */
function paintWindow(composition: Composition, inks: Inks, frame: Frame, scale: number, random: Random): Canvas {
  const canvas = createCanvas(Math.ceil(frame.width * scale), Math.ceil(frame.height * scale));
  const context = canvas.getContext('2d');
  // The window has its own logical units, so that a small one does not show a section of a large scene.
  const unit = Math.sqrt((frame.width * frame.height) / 1_000_000) * scale;
  const size = { width: canvas.width / unit, height: canvas.height / unit };
  const isDark = composition.time === 'night' || composition.time === 'dusk';
  const light = placeLight(composition, size, random.fork('light'));
  const stage: Stage = {
    context,
    ...size,
    scale: unit,
    horizon: composition.horizon * size.height,
    palette: inkPalette(inks, isDark),
    light: {
      ...light,
      isVisible: composition.setting !== 'space',
      radius: light.radius * 2.1,
      y: Math.min(light.y, composition.horizon * size.height * 0.72),
    },
    time: composition.time,
    season: composition.season,
    weather: composition.weather,
    style: 'minimal',
    isFlat: true,
    random: random.fork('stage'),
    skyForm: random.fork('sky').pick(['rays', 'rings', 'bands'] as const),
  };
  context.scale(unit, unit);
  paintScene(stage, composition);
  printWith(context, inks, unit);
  return canvas;
}

function clipTo(context: Context, frame: Frame, layout: LayoutName): void {
  context.beginPath();
  if (layout === 'arch') {
    const radius = frame.width / 2;
    context.moveTo(frame.x, frame.y + frame.height);
    context.lineTo(frame.x, frame.y + radius);
    context.arc(frame.x + radius, frame.y + radius, radius, Math.PI, 0);
    context.lineTo(frame.x + frame.width, frame.y + frame.height);
    context.closePath();
  } else context.rect(frame.x, frame.y, frame.width, frame.height);
  context.clip();
}

/** The positions of the image and the text, in logical units. */
function layOut(layout: LayoutName, width: number, height: number): { image: Frame; title: Frame; line: Frame } {
  const edge = Math.min(width, height) * 0.065;
  const inner = width - edge * 2;
  if (layout === 'full') {
    return {
      image: { x: 0, y: 0, width, height },
      title: { x: edge, y: edge * 0.9, width: inner, height: height * 0.24 },
      line: { x: edge, y: height - edge * 1.5, width: inner, height: edge * 0.62 },
    };
  }
  const below = Math.max(height * 0.25, 190);
  const arch = layout === 'arch' ? Math.min(inner, (height - below - edge) * 0.82) : inner;
  return {
    image: { x: (width - arch) / 2, y: edge, width: arch, height: height - below - edge },
    title: { x: edge, y: height - below + edge * 0.45, width: inner, height: below - edge * 2.25 },
    line: { x: edge, y: height - edge * 1.6, width: inner, height: edge * 0.62 },
  };
}

/**
 * Renders a poster. Input: `prompt`, and optionally `aspect_ratio`, `resolution`, `size`, `variation`, `image_url`
 * (models/poster.json).
 *
 * @throws {UndecodableMediaError} the image of `image_url` cannot be read.
 * @throws {UnusableInputError} no letter of a quoted text can be drawn.
 */
export async function renderPoster({ input, media }: EngineWork): Promise<readonly RenderedFile[]> {
  const inputFile = media.get('image_url');
  const prompt = typeof input['prompt'] === 'string' ? input['prompt'] : '';
  const variation = typeof input['variation'] === 'number' ? input['variation'] : 1;
  const reading = readPrompt(prompt);
  requireLetterable(reading.quotations.slice(0, 2));
  const random = createRandom(hashText(`poster/${variation}/${reading.scenery}`));
  const pixels = namedSize(input['size']) ?? pixelSize(input['aspect_ratio'], input['resolution'], '2:3');
  const canvas = createCanvas(pixels.width, pixels.height);
  const context = canvas.getContext('2d');
  const scale = Math.sqrt((pixels.width * pixels.height) / 1_000_000);
  const [width, height] = [pixels.width / scale, pixels.height / scale];
  const composition = compose(reading, random.fork('composition'));
  const inks = chooseInks(reading, composition.time, random.fork('inks'));
  // A title over an image that we did not compose may not be readable: the image stays in its frame.
  const layout = random
    .fork('layout')
    .pick(inputFile === undefined ? (['framed', 'full', 'arch'] as const) : (['framed', 'arch'] as const));
  const frames = layOut(layout, width, height);
  const print =
    inputFile === undefined
      ? paintWindow(composition, inks, frames.image, scale, random)
      : await printImage(await readImage(media, 'image_url', LARGEST_IMAGE), inks, frames.image, scale);
  context.scale(scale, scale);
  context.fillStyle = css(inks.paper);
  context.fillRect(0, 0, width, height);
  context.save();
  clipTo(context, frames.image, layout);
  context.drawImage(print, frames.image.x, frames.image.y, frames.image.width, frames.image.height);
  context.restore();
  const isFull = layout === 'full';
  const isDark = composition.time === 'night' || composition.time === 'dusk';
  const { title, line } = wordsOf(reading, prompt, composition);
  const [darkest] = inks.ramp;
  const colour = isFull ? (isDark ? inks.paper : darkest) : darkest;
  letter(context, title, frames.title, {
    weight: 900,
    colour,
    largest: frames.title.height,
    smallest: 22,
    align: isFull ? 'left' : 'center',
    anchor: isFull ? 'top' : 'middle',
    tracking: -0.02,
  });
  letter(context, line, frames.line, {
    weight: 700,
    colour: isFull ? inks.paper : lightness(inks.accent) > 0.72 ? inks.ramp[1] : adjust(inks.accent, -0.05),
    largest: 25,
    smallest: 10,
    align: isFull ? 'left' : 'center',
    anchor: 'middle',
    tracking: 0.22,
  });
  return [{ bytes: await encodeCanvas(canvas, 'png') }];
}
