/**
 * The caller's image as a print: turned into light and dark, and printed with the inks of the poster.
 */
import { createCanvas } from '@napi-rs/canvas';
import type { Canvas } from '@napi-rs/canvas';
import sharp from 'sharp';
import { mix } from './colour.ts';
import type { Colour } from './colour.ts';
import type { Pixels } from './finish/pixels.ts';
import type { Inks } from './inks.ts';
import { printWith } from './print.ts';

/**
 * The largest ratio of the sides. Finding the most interesting part uses the whole image at the size of the window: for
 * a line of pixels, that is thousands of windows (measured: 148 s for 1 x 3000).
 */
const LONGEST_SHAPE = 4;

/** Colours within this distance of the accent, 0 to 255 in each channel, are printed with it. */
const ACCENT_REACH = 90;
/** Difference of the channels, 0 to 255, from which a colour counts as one and not as a shade of grey. */
const STRONG = 80;

/** The pixels of an image that fills a window, row by row, red, green and blue; the least interesting part is cut. */
async function fill(source: Pixels, width: number, height: number): Promise<Uint8Array> {
  sharp.concurrency(1);
  sharp.cache(false);
  const { buffer, byteOffset, byteLength } = source.data;
  const raw = { width: source.width, height: source.height, channels: 4 as const };
  const isStrip = Math.max(raw.width, raw.height) > Math.min(raw.width, raw.height) * LONGEST_SHAPE;
  return await sharp(Buffer.from(buffer, byteOffset, byteLength), { raw })
    .removeAlpha()
    .resize(width, height, { fit: 'cover', position: isStrip ? 'centre' : 'attention' })
    .raw()
    .toBuffer();
}

/**
 * Prints an image.
 *
 * @param frame the window that it fills, in logical units; the part that does not fit its shape is cut off where the
 * image is least interesting.
 * @param scale pixels in one logical unit.
 */
export async function printImage(
  source: Pixels,
  inks: Inks,
  frame: { readonly width: number; readonly height: number },
  scale: number,
): Promise<Canvas> {
  const canvas = createCanvas(Math.ceil(frame.width * scale), Math.ceil(frame.height * scale));
  const context = canvas.getContext('2d');
  const pixels = await fill(source, canvas.width, canvas.height);
  const image = context.createImageData(canvas.width, canvas.height);
  const [dark, light] = extremes(pixels);
  const hasAccent = strength(...inks.accent) > STRONG;
  const tones = Array.from({ length: 256 }, (_, value) => onRamp((value - dark) / (light - dark), inks));
  for (let from = 0, to = 0; to < image.data.length; from += 3, to += 4) {
    const [red, green, blue] = [pixels[from] ?? 0, pixels[from + 1] ?? 0, pixels[from + 2] ?? 0];
    const tone = tones[Math.round(lightOf(red, green, blue))] ?? inks.paper;
    const inked = hasAccent && isNear(red, green, blue, inks.accent) ? inks.accent : tone;
    image.data[to] = inked[0];
    image.data[to + 1] = inked[1];
    image.data[to + 2] = inked[2];
    image.data[to + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  printWith(context, inks, scale);
  return canvas;
}

/** 0 to 255 (Rec. 601). */
function lightOf(red: number, green: number, blue: number): number {
  return red * 0.299 + green * 0.587 + blue * 0.114;
}

/** The light of the darkest and of the lightest hundredth of the pixels, so that a dull image uses all inks too. */
function extremes(pixels: Uint8Array): readonly [dark: number, light: number] {
  const counts = new Uint32Array(256);
  for (let position = 0; position < pixels.length; position += 3) {
    const light = Math.round(lightOf(pixels[position] ?? 0, pixels[position + 1] ?? 0, pixels[position + 2] ?? 0));
    counts[light] = (counts[light] ?? 0) + 1;
  }
  const hundredth = pixels.length / 300;
  const reach = (from: number, step: 1 | -1): number => {
    let [light, seen] = [from, 0];
    for (; light >= 0 && light <= 255 && seen <= hundredth; light += step) seen += counts[light] ?? 0;
    return light - step;
  };
  const [dark, light] = [reach(0, 1), reach(255, -1)];
  // An image of one tone has no range to stretch.
  return light - dark < 24 ? [0, 255] : [dark, light];
}

/** The ramp's colour for a share of light; below 0 and above 1 its ends. */
function onRamp(share: number, { ramp }: Inks): Colour {
  const position = Math.max(0, Math.min(1, share)) * (ramp.length - 1);
  const below = Math.min(ramp.length - 2, Math.floor(position));
  const [from, to] = [ramp[below] ?? ramp[0], ramp[below + 1] ?? ramp[4]];
  return mix(from, to, position - below);
}

/** Whether a colour is strong, and close to the accent. */
function isNear(red: number, green: number, blue: number, accent: Colour): boolean {
  return (
    Math.abs(red - accent[0]) < ACCENT_REACH &&
    Math.abs(green - accent[1]) < ACCENT_REACH &&
    Math.abs(blue - accent[2]) < ACCENT_REACH &&
    strength(red, green, blue) > STRONG
  );
}

function strength(red: number, green: number, blue: number): number {
  return Math.max(red, green, blue) - Math.min(red, green, blue);
}
