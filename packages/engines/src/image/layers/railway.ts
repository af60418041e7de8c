/**
 * The way of a train: a bed of ballast with its rails from edge to edge, and the level deck of a viaduct. Their surface
 * defines the position of both, so that the code that places a train and the code that draws its way agree.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import { fillBox } from '../draw.ts';
import { lit } from '../palette.ts';
import type { DrawThing, Stage, Surface } from '../stage.ts';

/** How far below the brow of its ground a track lies: things on the ground stand behind it. */
const TRACK_BELOW = 14;
/** The deck as a share of the horizon's height: its arches stand against the sky and the water. */
const DECK = 0.88;
const DECK_THICK = 20;
/** Rails, parapet and deck edge overlap the feet of the train by this. */
const KERB = 3;

/** Where the wheels of a train are on a ground. */
export function railAt(surface: Surface, x: number): number {
  return surface.form === 'deck' ? surface.yAt(x) : surface.yAt(x) + TRACK_BELOW;
}

/** Level ground with a track on it. */
export function levelled(surface: Surface, y: number): Surface {
  return { ...surface, form: 'track', yAt: () => y };
}

/** A strip of shore along the horizon, from edge to edge. */
export function makeRailShore(stage: Stage): Surface {
  const shore = { depth: 0.24, scale: 0.56, left: 0, right: stage.width, yAt: (): number => 0 };
  return levelled(shore, stage.horizon - TRACK_BELOW - 9);
}

/** The deck of the viaduct that `drawViaduct` draws. */
export function makeDeck(stage: Stage): Surface {
  const y = stage.horizon * DECK;
  return { form: 'deck', depth: 0.15, scale: 0.6, left: 0, right: stage.width, yAt: () => y };
}

/** Ballast, sleepers and rails of the track on a levelled ground. */
export function drawTrack(stage: Stage, surface: Surface): void {
  const { context, palette, width, isFlat } = stage;
  const y = railAt(surface, 0);
  const ballast = mix(mix(palette.rock, palette.land, 0.35), palette.haze, surface.depth * 0.5);
  fillBox(context, -10, y, width + 20, 8, ballast);
  if (!isFlat) {
    fillBox(context, -10, y, width + 20, 1.6, css(mix(ballast, palette.rim, 0.4), 0.7));
    const wood = mix(lit(palette, hex('#4d3a2c'), surface.depth), ballast, 0.25);
    for (let x = -6; x < width + 10; x += 13) fillBox(context, x, y + 1.6, 6, 3.4, wood);
  }
  fillBox(context, -10, y - 2, width + 20, 2.6, mix(palette.land, palette.rock, 0.4));
}

/** A stone viaduct with a level deck from edge to edge, its piers down to a foot in the water. */
export const drawViaduct: DrawThing = (stage, foot, _size, look) => {
  const { context, palette, width, horizon, isFlat } = stage;
  const stone = lit(palette, look.colour ?? hex('#a89c8c'), look.depth);
  const top = horizon * DECK;
  const bottom = foot.y + 8;
  const count = Math.max(3, Math.round(width / 170));
  const span = width / count;
  const radius = span * 0.39;
  const spring = top + DECK_THICK + radius;
  const archesAt = (grow: number): void => {
    for (let arch = count; arch >= -1; arch--) {
      const middle = (arch + 0.5) * span;
      context.lineTo(middle + radius + grow, bottom);
      context.lineTo(middle + radius + grow, spring);
      context.arc(middle, spring, radius + grow, 0, Math.PI, true);
      context.lineTo(middle - radius - grow, bottom);
    }
  };
  context.beginPath();
  context.moveTo(-span, bottom);
  context.lineTo(-span, top);
  context.lineTo(width + span, top);
  context.lineTo(width + span, bottom);
  archesAt(0);
  context.closePath();
  const gradient = context.createLinearGradient(0, top, 0, bottom);
  gradient.addColorStop(0, css(mix(stone, palette.rim, 0.2)));
  gradient.addColorStop(1, css(adjust(stone, -0.12)));
  context.fillStyle = isFlat ? css(mix(stone, palette.land, 0.5)) : gradient;
  context.fill();
  if (!isFlat) {
    context.lineWidth = 4;
    context.strokeStyle = css(adjust(stone, -0.09), 0.8);
    for (let arch = -1; arch <= count; arch++) {
      context.beginPath();
      context.arc((arch + 0.5) * span, spring, radius + 4, Math.PI, 0);
      context.stroke();
    }
    for (let arch = -1; arch <= count; arch++)
      fillBox(
        context,
        arch * span - (span / 2 - radius) - 3,
        spring - 3,
        span - radius * 2 + 6,
        6,
        adjust(stone, 0.03),
      );
  }
  fillBox(context, -10, top - KERB + 2, width + 20, 5, adjust(stone, 0.05));
  fillBox(context, -10, top + 7, width + 20, 2, adjust(stone, -0.14));
};
