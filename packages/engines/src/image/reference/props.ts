/**
 * Reference images as things in a scene: an image on an easel, prints on a line, a billboard, a framed image on a wall.
 */
import type { Canvas } from '@napi-rs/canvas';
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { fillBox, fillEllipse, fillShape, strokeLine } from '../draw.ts';
import { lit } from '../palette.ts';
import { coverCrop } from '../analysis/cut-out.ts';
import type { Point, Stage } from '../stage.ts';

interface Sheet {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** An image in a rectangle, under the light of the scene. */
function drawImage(stage: Stage, image: Canvas, sheet: Sheet): void {
  const { context, palette } = stage;
  const { left, top, width, height } = coverCrop(image, sheet.width / sheet.height);
  context.imageSmoothingQuality = 'high';
  context.drawImage(image, left, top, width, height, sheet.x, sheet.y, sheet.width, sheet.height);
  context.save();
  context.globalCompositeOperation = 'multiply';
  fillBox(context, sheet.x, sheet.y, sheet.width, sheet.height, mix(palette.light, hex('#ffffff'), 0.62));
  context.restore();
}

/** Width and height of an image of a given area, with its shape kept within bounds. */
function fitted(image: Canvas, area: number): { width: number; height: number } {
  const shape = Math.max(0.6, Math.min(1.8, image.width / image.height));
  return { width: Math.sqrt(area * shape), height: Math.sqrt(area / shape) };
}

function drawFrame(stage: Stage, sheet: Sheet, border: number, colour: Colour): void {
  const { context, palette } = stage;
  const { x, y, width, height } = sheet;
  fillBox(context, x - border, y - border, width + border * 2, height + border * 2, colour);
  fillBox(context, x - border, y - border, width + border * 2, border * 0.35, mix(colour, palette.rim, 0.5));
  fillBox(context, x - border, y + height + border * 0.7, width + border * 2, border * 0.3, adjust(colour, -0.12));
  fillBox(
    context,
    x - border * 0.3,
    y - border * 0.3,
    width + border * 0.6,
    height + border * 0.6,
    adjust(colour, -0.16),
  );
}

/** A framed image on a painter's easel; `foot` is between its legs. */
export function drawEasel(stage: Stage, image: Canvas, foot: Point, tall: number): void {
  const { context, palette } = stage;
  const wood = lit(palette, hex('#8a5f3c'));
  const { width, height } = fitted(image, (tall * 0.66) ** 2);
  const sheet = { x: foot.x - width / 2, y: foot.y - tall * 0.34 - height, width, height };
  const top = sheet.y - tall * 0.14;
  fillEllipse(context, { x: foot.x, y: foot.y }, tall * 0.36, tall * 0.03, css(palette.land, 0.4));
  strokeLine(
    context,
    [
      { x: foot.x, y: top },
      { x: foot.x + tall * 0.05, y: foot.y - tall * 0.05 },
    ],
    tall * 0.028,
    adjust(wood, -0.14),
  );
  for (const side of [-1, 1]) {
    strokeLine(
      context,
      [
        { x: foot.x + side * tall * 0.03, y: top },
        { x: foot.x + side * tall * 0.3, y: foot.y },
      ],
      tall * 0.032,
      wood,
    );
  }
  drawFrame(stage, sheet, tall * 0.028, lit(palette, hex('#d8b36a')));
  drawImage(stage, image, sheet);
  fillBox(context, foot.x - width * 0.6, sheet.y + height + tall * 0.028, width * 1.2, tall * 0.03, adjust(wood, 0.04));
}

/** A board on two posts in the landscape. */
export function drawBillboard(stage: Stage, image: Canvas, foot: Point, tall: number): void {
  const { context, palette } = stage;
  const steel = lit(palette, hex('#4b5058'));
  const { width, height } = fitted(image, (tall * 0.8) ** 2);
  const sheet = { x: foot.x - width / 2, y: foot.y - tall * 0.35 - height, width, height };
  for (const side of [-0.32, 0.32]) {
    fillBox(
      context,
      foot.x + width * side - tall * 0.018,
      sheet.y + height * 0.5,
      tall * 0.036,
      tall * 0.35 + height * 0.5,
      steel,
    );
  }
  fillEllipse(context, foot, width * 0.5, tall * 0.02, css(palette.land, 0.4));
  drawFrame(stage, sheet, tall * 0.022, steel);
  drawImage(stage, image, sheet);
  for (const side of [-0.34, 0, 0.34]) {
    const lamp = { x: foot.x + width * side, y: sheet.y + height + tall * 0.055 };
    strokeLine(context, [{ x: lamp.x, y: lamp.y - tall * 0.03 }, lamp], tall * 0.01, steel);
    fillShape(
      context,
      [
        { x: lamp.x - tall * 0.02, y: lamp.y },
        { x: lamp.x + tall * 0.02, y: lamp.y },
        { x: lamp.x, y: lamp.y - tall * 0.022 },
      ],
      palette.sun,
    );
  }
}

/** Prints pegged to cords that hang across the image between two poles. */
export function drawPrints(stage: Stage, images: readonly Canvas[]): void {
  const { context, palette, width, height, random } = stage;
  const chance = random.fork('prints');
  const rows = images.length > 6 ? 2 : 1;
  const each = Math.ceil(images.length / rows);
  const inset = width * 0.07;
  const wide = Math.min(height * 0.26, (width - inset * 2) / (each + 0.6));
  const pole = lit(palette, hex('#5e4634'));
  for (const x of [inset, width - inset]) {
    strokeLine(
      context,
      [
        { x, y: height * 0.3 },
        { x: x + chance.between(-8, 8), y: height + 6 },
      ],
      13,
      pole,
    );
    strokeLine(
      context,
      [
        { x: x - 3, y: height * 0.3 },
        { x: x - 3, y: height },
      ],
      3,
      mix(pole, palette.rim, 0.4),
    );
  }
  for (let row = 0; row < rows; row++) {
    const some = images.slice(row * each, (row + 1) * each);
    const top = height * (0.33 + row * 0.3);
    const sag = (share: number): number => top + height * 0.09 * 4 * share * (1 - share);
    const cord = Array.from({ length: 40 }, (_, step) => ({
      x: inset + (width - inset * 2) * (step / 39),
      y: sag(step / 39),
    }));
    strokeLine(context, cord, 2.4, lit(palette, hex('#3c332b')));
    for (const [index, image] of some.entries()) {
      const share = (index + 0.5 + (each - some.length) / 2) / each;
      const print = { x: inset + (width - inset * 2) * share, y: sag(share) };
      context.save();
      context.translate(print.x, print.y);
      context.rotate(chance.between(-0.07, 0.07));
      drawPrint(stage, image, wide * 0.86);
      context.restore();
    }
  }
}

/** One print with a white border, hung at the origin by a peg. */
function drawPrint(stage: Stage, image: Canvas, wide: number): void {
  const { context, palette } = stage;
  const paper = lit(palette, hex('#fbf8f0'));
  const border = wide * 0.06;
  const tall = wide * 1.16;
  fillBox(context, -wide / 2 + wide * 0.03, wide * 0.03, wide, tall, css(palette.land, 0.3));
  fillBox(context, -wide / 2, 0, wide, tall, paper);
  drawImage(stage, image, {
    x: -wide / 2 + border,
    y: border,
    width: wide - border * 2,
    height: wide - border * 2,
  });
  fillBox(context, -wide * 0.025, -wide * 0.06, wide * 0.05, wide * 0.13, lit(palette, hex('#c79a5c')));
}

/** A framed image on a wall, hung by its centre. */
export function drawOnWall(stage: Stage, image: Canvas, centre: Point, tall: number): void {
  const { width, height } = fitted(image, tall ** 2);
  const sheet = { x: centre.x - width / 2, y: centre.y - height / 2, width, height };
  fillBox(
    stage.context,
    sheet.x - tall * 0.02,
    sheet.y + tall * 0.02,
    width + tall * 0.1,
    height + tall * 0.1,
    css(hex('#1a1410'), 0.25),
  );
  drawFrame(stage, sheet, tall * 0.055, lit(stage.palette, hex('#7a5331')));
  drawImage(stage, image, sheet);
}
