/**
 * How light falls on a building: its lit and its shaded side, its roof, and windows that shine when it is dark.
 */
import { adjust, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { fillShape } from '../draw.ts';
import { lit } from '../palette.ts';
import { isSnowy, lightSide } from '../stage.ts';
import type { Context, Look, Point, Stage } from '../stage.ts';

/** The tones of one building in the light of its scene. */
export interface Tones {
  readonly wall: Colour;
  readonly shade: Colour;
  readonly roof: Colour;
  readonly window: Colour;
  readonly side: 1 | -1;
}

export function tonesOf(stage: Stage, foot: Point, look: Look, wall: string, roof: string): Tones {
  const { palette } = stage;
  const paint = lit(palette, look.colour ?? hex(wall), look.depth);
  const isLampLit = palette.isDark || stage.time === 'sunset' || stage.weather.has('storm');
  return {
    wall: mix(paint, palette.rim, 0.12),
    shade: mix(adjust(paint, -0.13), palette.sky[0], 0.12),
    roof: isSnowy(stage) ? mix(palette.snow, palette.haze, look.depth * 0.5) : lit(palette, hex(roof), look.depth),
    window: isLampLit ? hex('#ffd27a') : mix(palette.sky[1], palette.land, 0.45),
    side: lightSide(stage, foot.x),
  };
}

/** A shape and its unlit half in one colour each; the side away from the light is dark. */
export function twoSided(context: Context, left: readonly Point[], right: readonly Point[], tones: Tones): void {
  fillShape(context, left, tones.side === -1 ? tones.wall : tones.shade);
  fillShape(context, right, tones.side === 1 ? tones.wall : tones.shade);
}
