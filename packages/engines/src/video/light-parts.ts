/**
 * Lights that people make: windows of a city that go on and off, lamps on its towers, the beam of a lighthouse.
 */
import { css, hex } from '../image/colour.ts';
import { fillBox, fillShape, glow, points } from '../image/draw.ts';
import type { Placed } from '../image/placement.ts';
import { paintBox } from './actors.ts';
import { project } from './camera.ts';
import { draw } from './raster/drawing.ts';
import type { PlacedBitmap } from './raster/bitmap.ts';
import { createSprite, stamp } from './raster/sprites.ts';
import type { Moment, Part } from './scene-parts.ts';
import type { WorldStage } from './world-stage.ts';

/** How dark it is, 0 to 1. */
function darkness({ palettes }: WorldStage, progress: number): number {
  const [first, , last] = palettes;
  const [from, to] = [first.isDark ? 1 : 0, last.isDark ? 1 : 0];
  return from + (to - from) * Math.max(0, Math.min(1, progress * 2 - 0.6));
}

/** Windows that are lit for a while. @param city where the buildings are. */
export function windowPart(world: WorldStage, city: PlacedBitmap, nearness: number): Part {
  const { stage } = world;
  const random = stage.random.fork('windows');
  const isNeon = stage.style === 'neon';
  const hues = isNeon ? ['#3ff3ff', '#ff5fd0', '#ffe066'] : ['#ffd88a', '#ffe9bd', '#ffc46b'];
  const [wide, tall] = [3.4 * stage.scale, 4.8 * stage.scale];
  const sprites = hues.map((hue) =>
    createSprite({ width: wide * 4, height: tall * 4 }, (context) => {
      glow(context, { x: 0, y: 0 }, wide * 1.9, hex(hue), 0.35);
      fillBox(context, -wide / 2, -tall / 2, wide, tall, hex(hue));
    }),
  );
  const { bitmap, left, top } = city;
  const horizon = Math.floor(stage.horizon * stage.scale) - top;
  const windows = Array.from({ length: 420 }, () => ({
    x: Math.floor(random.next() * bitmap.width),
    y: Math.floor(horizon * (1 - random.next() ** 1.5 * 0.9)) - 4,
    kind: random.integer(0, hues.length - 1),
    pace: random.between(0.15, 0.7),
    phase: random.between(0, 7),
    from: random.next(),
  })).filter(({ x, y }) => y > 2 && isInside(bitmap, x, y - Math.round(tall)) && isInside(bitmap, x, y));
  return (frame, moment) => {
    const dark = darkness(world, moment.progress);
    if (dark < 0.02) return;
    const seen = project(moment.view, nearness);
    for (const { x, y, kind, pace, phase, from } of windows) {
      // Each goes on at its own moment as it gets dark, and off and on again.
      const isOn = dark > from * 0.9 && Math.sin(moment.seconds * pace + phase) > -0.55;
      const sprite = sprites[kind];
      if (!isOn || sprite === undefined) continue;
      stamp(frame, sprite, (left + x) * seen.scale + seen.x, (top + y) * seen.scale + seen.y, 0.75 * dark, true);
    }
  };
}

function isInside({ width, height, pixels }: PlacedBitmap['bitmap'], x: number, y: number): boolean {
  return x >= 0 && x < width && y >= 0 && y < height && (pixels[y * width + x] ?? 0) >>> 24 === 255;
}

/** A beam that turns: to one side, towards the viewer, to the other. */
export function beamPart(world: WorldStage, { position, size }: Placed, nearness: number): Part {
  const { stage } = world;
  // The position of the lamp in the image engine's lighthouse.
  const lamp = { x: position.x, y: position.y - size * 0.93 };
  const long = stage.width * 0.62;
  const beam = (side: 1 | -1): PlacedBitmap | undefined => {
    const box = { left: side === 1 ? lamp.x : lamp.x - long, top: lamp.y - 70, width: long, height: 140 };
    return paintBox(stage, box, ({ context }) => {
      const gradient = context.createLinearGradient(lamp.x, 0, lamp.x + side * long, 0);
      gradient.addColorStop(0, css(hex('#fff3c4'), 0.5));
      gradient.addColorStop(1, css(hex('#fff3c4'), 0));
      const end = lamp.x + side * long;
      fillShape(context, points(lamp.x, lamp.y - 3, end, lamp.y - 58, end, lamp.y + 58, lamp.x, lamp.y + 3), gradient);
    });
  };
  const sides = { right: beam(1), left: beam(-1) };
  const reach = 120 * stage.scale;
  const flash = createSprite({ width: reach * 2, height: reach * 2 }, (context) => {
    glow(context, { x: 0, y: 0 }, reach, hex('#fff6d8'), 0.8);
  });
  const put = (frame: Parameters<Part>[0], moment: Moment, turn: number, strength: number): void => {
    const image = turn > 0 ? sides.right : sides.left;
    if (image === undefined || Math.abs(turn) < 0.04) return;
    const seen = project(moment.view, nearness);
    const root = lamp.x * stage.scale;
    draw(frame, image.bitmap, {
      x: (root + (image.left - root) * Math.abs(turn)) * seen.scale + seen.x,
      y: image.top * seen.scale + seen.y,
      scale: seen.scale * Math.abs(turn),
      scaleY: seen.scale,
      strength,
      isLight: true,
    });
  };
  return (frame, moment) => {
    const dark = darkness(world, moment.progress);
    if (dark < 0.02) return;
    const angle = moment.seconds * 1.15 + 0.4;
    const [turn, towards] = [Math.cos(angle), Math.sin(angle)];
    put(frame, moment, turn, dark * 0.9);
    // The lamp shines in two directions.
    put(frame, moment, -turn, dark * 0.9);
    const seen = project(moment.view, nearness);
    const bright = Math.max(0, Math.abs(towards) - 0.86) / 0.14;
    const at = { x: lamp.x * stage.scale * seen.scale + seen.x, y: lamp.y * stage.scale * seen.scale + seen.y };
    stamp(frame, flash, at.x, at.y, (0.18 + 0.6 * bright * bright) * dark, true);
  };
}
