/**
 * Animals on land, in profile: those that sit (cat, dog, fox, wolf, rabbit, owl) and those that stand on four legs,
 * built from one set of proportions each. Drawn facing right in a square whose side is their height.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { at, fillCurve, fillEllipse, fillShape, points, strokeLine } from '../draw.ts';
import { lit } from '../palette.ts';
import type { DrawThing } from '../stage.ts';

interface Sitter {
  readonly coat: string;
  readonly belly: string;
  readonly ear: 'pointed' | 'hanging' | 'long';
  readonly tail: 'bushy' | 'thin' | 'puff';
  readonly snout: number;
}

/** An animal that sits with its tail round its feet. */
export function sitting(kind: Sitter): DrawThing {
  return (stage, foot, size, look) => {
    const { context, palette } = stage;
    const coat = lit(palette, look.colour ?? hex(kind.coat), look.depth);
    const belly = lit(palette, look.colour === undefined ? hex(kind.belly) : adjust(look.colour, 0.2, 0.5), look.depth);
    const shade = adjust(coat, -0.09);
    const dark = mix(lit(palette, hex('#2a2224'), look.depth), palette.land, 0.2);
    at(context, foot, size, look.facing, () => {
      if (kind.tail === 'bushy') {
        fillCurve(
          context,
          points(
            -0.2,
            -0.03,
            -0.42,
            -0.02,
            -0.62,
            -0.16,
            -0.6,
            -0.36,
            -0.5,
            -0.42,
            -0.46,
            -0.26,
            -0.34,
            -0.18,
            -0.16,
            -0.18,
          ),
          shade,
        );
        fillCurve(context, points(-0.62, -0.2, -0.61, -0.36, -0.5, -0.43, -0.48, -0.34, -0.55, -0.26), belly);
      } else if (kind.tail === 'thin') {
        strokeLine(context, points(-0.2, -0.06, -0.36, -0.03, -0.46, -0.1, -0.48, -0.24, -0.42, -0.32), 0.065, shade);
      } else fillEllipse(context, { x: -0.27, y: -0.14 }, 0.08, 0.08, belly);
      // Back, haunch, chest and front legs as one curve.
      fillCurve(
        context,
        points(
          -0.3,
          0,
          -0.34,
          -0.16,
          -0.26,
          -0.36,
          -0.13,
          -0.52,
          -0.05,
          -0.66,
          0.12,
          -0.68,
          0.2,
          -0.5,
          0.21,
          -0.3,
          0.2,
          -0.06,
          0.25,
          0,
          0.1,
          0.005,
          0.07,
          -0.12,
          0,
          -0.02,
          0.03,
          0.005,
        ),
        coat,
      );
      fillCurve(context, points(0.1, -0.6, 0.19, -0.5, 0.2, -0.34, 0.17, -0.22, 0.11, -0.34), belly);
      fillCurve(context, points(-0.28, -0.02, -0.27, -0.2, -0.1, -0.28, 0.01, -0.16, 0.02, -0.01), shade);
      fillEllipse(context, { x: 0.02, y: -0.02 }, 0.09, 0.03, coat);
      const head = { x: 0.1, y: -0.76 };
      if (kind.ear === 'pointed') {
        fillShape(context, points(-0.05, -0.8, -0.06, -1, 0.07, -0.87), shade);
        fillShape(context, points(0.06, -0.86, 0.12, -1.02, 0.2, -0.82), coat);
        fillShape(context, points(0.09, -0.87, 0.125, -0.97, 0.17, -0.84), mix(coat, dark, 0.4));
      } else if (kind.ear === 'long') {
        fillEllipse(context, { x: 0, y: -0.98 }, 0.05, 0.19, shade, -0.22);
        fillEllipse(context, { x: 0.1, y: -1 }, 0.05, 0.2, coat, 0.06);
        fillEllipse(
          context,
          { x: 0.105, y: -0.99 },
          0.024,
          0.14,
          mix(coat, lit(palette, hex('#e8a0a0'), look.depth), 0.5),
          0.06,
        );
      }
      fillEllipse(context, head, 0.165, 0.145, coat);
      fillCurve(
        context,
        points(0.16, -0.83, 0.24 + kind.snout, -0.76, 0.25 + kind.snout, -0.71, 0.2, -0.66, 0.1, -0.64),
        coat,
      );
      fillCurve(
        context,
        points(0.14, -0.72, 0.24 + kind.snout, -0.72, 0.2 + kind.snout * 0.5, -0.67, 0.1, -0.63),
        belly,
      );
      fillEllipse(context, { x: 0.235 + kind.snout * 0.8, y: -0.745 }, 0.022, 0.018, dark);
      if (kind.ear === 'hanging')
        fillCurve(context, points(-0.02, -0.86, 0.06, -0.84, 0.05, -0.66, -0.02, -0.58, -0.08, -0.7), shade);
      fillEllipse(context, { x: 0.165, y: -0.785 }, 0.02, 0.024, dark);
      fillEllipse(context, { x: 0.172, y: -0.793 }, 0.007, 0.008, css(hex('#ffffff'), 0.9));
    });
  };
}

interface Walker {
  readonly coat: string;
  /** Shares of the height: legs, depth of the body, half its length, length and rise of the neck, the head. */
  readonly leg: number;
  readonly deep: number;
  readonly half: number;
  readonly neck: readonly [out: number, up: number, wide: number];
  readonly head: readonly [long: number, deep: number];
  readonly tail: 'long' | 'short' | 'tuft' | 'hair';
  readonly extra?: 'antlers' | 'mane' | 'big-mane' | 'trunk' | 'hump' | 'wool' | 'horns' | 'horn' | 'spots';
  readonly ear?: 'up' | 'side' | 'round';
}

/** An animal that stands on four legs. */
export function standing(kind: Walker): DrawThing {
  return (stage, foot, size, look) => {
    const { context, palette } = stage;
    const coat = lit(palette, look.colour ?? hex(kind.coat), look.depth);
    const shade = adjust(coat, -0.1);
    const bright = mix(coat, palette.rim, 0.3);
    const dark = mix(lit(palette, hex('#2b211d'), look.depth), palette.land, 0.25);
    const { leg, deep, half } = kind;
    const belly = -leg;
    const back = -leg - deep;
    const [out, up, wide] = kind.neck;
    const nape = { x: half * 0.82 + out, y: back - up + deep * 0.2 };
    const limb = (x: number, lean: number, colour: Colour): void => {
      const thick = kind.extra === 'trunk' || kind.ear === 'round' ? 0.14 : 0.062;
      strokeLine(
        context,
        points(x, belly - deep * 0.3, x + lean, belly * 0.5, x + lean * 0.4, -thick * 0.4),
        thick,
        colour,
      );
    };
    at(context, foot, size, look.facing, () => {
      limb(-half * 0.62, -0.05, shade);
      limb(half * 0.85, 0.03, shade);
      if (kind.tail === 'hair')
        fillCurve(
          context,
          points(
            -half * 0.98,
            back + 0.04,
            -half - 0.14,
            back + 0.1,
            -half - 0.16,
            belly + 0.16,
            -half - 0.1,
            belly + 0.2,
            -half * 0.96,
            back + 0.14,
          ),
          dark,
        );
      else if (kind.tail === 'short')
        fillEllipse(context, { x: -half - 0.02, y: back + deep * 0.22 }, 0.045, 0.05, bright);
      else
        strokeLine(
          context,
          points(-half * 0.95, back + deep * 0.25, -half - 0.1, back + deep * 0.5, -half - 0.12, belly + 0.12),
          0.032,
          shade,
        );
      if (kind.tail === 'tuft') fillEllipse(context, { x: -half - 0.12, y: belly + 0.14 }, 0.035, 0.055, dark);
      // The body, a little hollow in the back, with the neck growing out of the shoulder.
      fillCurve(
        context,
        points(
          -half,
          back + deep * 0.4,
          -half * 0.86,
          back,
          -half * 0.3,
          back + deep * 0.05,
          half * 0.3,
          back + deep * 0.05,
          half * 0.8,
          back - deep * 0.06,
          half * 1.04,
          back + deep * 0.4,
          half * 0.86,
          belly - deep * 0.06,
          0,
          belly + deep * 0.02,
          -half * 0.7,
          belly - deep * 0.16,
          -half * 0.98,
          belly - deep * 0.2,
        ),
        coat,
      );
      if (kind.extra === 'hump')
        fillCurve(
          context,
          points(-half * 0.55, back + deep * 0.2, -half * 0.1, back - deep * 0.62, half * 0.35, back + deep * 0.2),
          coat,
        );
      if (kind.extra === 'wool')
        for (let curl = 0; curl < 13; curl++) {
          const angle = (curl / 13) * Math.PI * 2;
          fillEllipse(
            context,
            { x: Math.cos(angle) * half * 0.9, y: (back + belly) / 2 + Math.sin(angle) * deep * 0.44 },
            deep * 0.26,
            deep * 0.25,
            coat,
          );
        }
      const face = kind.extra === 'wool' ? dark : coat;
      fillShape(
        context,
        points(
          half * 0.98 + wide * 0.2,
          belly - deep * 0.42,
          nape.x + wide * 0.45,
          nape.y + wide * 0.4,
          nape.x - wide * 0.5,
          nape.y - wide * 0.2,
          half * 0.45,
          back + deep * 0.1,
        ),
        coat,
      );
      if (kind.extra === 'big-mane')
        fillEllipse(context, { x: nape.x + 0.02, y: nape.y + 0.05 }, 0.22, 0.25, mix(dark, coat, 0.35));
      const [long, tall] = kind.head;
      const drop = long * 0.42;
      fillCurve(
        context,
        points(
          nape.x - wide * 0.4,
          nape.y - tall * 0.35,
          nape.x + long * 0.35,
          nape.y - tall * 0.42,
          nape.x + long * 0.98,
          nape.y + drop - tall * 0.28,
          nape.x + long,
          nape.y + drop + tall * 0.3,
          nape.x + long * 0.5,
          nape.y + tall * 0.72,
          nape.x - wide * 0.1,
          nape.y + tall * 0.6,
        ),
        face,
      );
      if (kind.extra === 'trunk') {
        strokeLine(
          context,
          points(
            nape.x + long * 0.8,
            nape.y + 0.08,
            nape.x + long * 1.06,
            nape.y + 0.3,
            nape.x + long * 1.02,
            -0.14,
            nape.x + long * 1.18,
            -0.08,
          ),
          0.075,
          face,
        );
        fillCurve(
          context,
          points(
            nape.x - 0.02,
            nape.y - 0.1,
            nape.x - 0.2,
            nape.y - 0.02,
            nape.x - 0.18,
            nape.y + 0.24,
            nape.x + 0.02,
            nape.y + 0.2,
          ),
          shade,
        );
        fillCurve(
          context,
          points(
            nape.x + long * 0.7,
            nape.y + 0.16,
            nape.x + long * 1.15,
            nape.y + 0.26,
            nape.x + long * 1.3,
            nape.y + 0.14,
            nape.x + long * 1.12,
            nape.y + 0.32,
            nape.x + long * 0.66,
            nape.y + 0.24,
          ),
          lit(palette, hex('#f2ead6'), look.depth),
        );
      } else if (kind.ear === 'round') {
        fillEllipse(context, { x: nape.x + 0.02, y: nape.y - tall * 0.42 }, 0.05, 0.05, shade);
      } else {
        fillCurve(
          context,
          points(
            nape.x - 0.01,
            nape.y - tall * 0.2,
            nape.x - 0.035,
            nape.y - tall * 0.35 - 0.1,
            nape.x + 0.05,
            nape.y - tall * 0.3,
          ),
          shade,
        );
      }
      if (kind.extra === 'mane' || kind.extra === 'horn') {
        const hair = kind.extra === 'horn' ? lit(palette, hex('#d99adf'), look.depth) : dark;
        fillCurve(
          context,
          points(
            nape.x + 0.03,
            nape.y - tall * 0.5,
            nape.x - wide * 0.75,
            nape.y + 0.02,
            half * 0.46,
            back - deep * 0.02,
            half * 0.6,
            back + deep * 0.14,
            nape.x - wide * 0.1,
            nape.y + 0.1,
          ),
          hair,
        );
      }
      if (kind.extra === 'horn')
        fillShape(
          context,
          points(
            nape.x + long * 0.3,
            nape.y - tall * 0.3,
            nape.x + long * 0.62,
            nape.y - 0.3,
            nape.x + long * 0.46,
            nape.y - tall * 0.2,
          ),
          lit(palette, hex('#ffe08a'), look.depth),
        );
      if (kind.extra === 'horns')
        strokeLine(
          context,
          points(nape.x, nape.y - tall * 0.3, nape.x + 0.02, nape.y - 0.14, nape.x + 0.08, nape.y - 0.19),
          0.03,
          bright,
        );
      if (kind.extra === 'antlers')
        for (const side of [-0.5, 0.6]) {
          const beam = points(
            nape.x + 0.01,
            nape.y - tall * 0.3,
            nape.x + side * 0.1,
            nape.y - 0.16,
            nape.x + side * 0.2,
            nape.y - 0.34,
          );
          strokeLine(context, beam, 0.02, shade);
          for (const [share, reach] of [
            [0.45, 0.12],
            [0.75, 0.1],
          ] as const) {
            const x = nape.x + side * (0.1 + share * 0.1);
            strokeLine(
              context,
              points(x, nape.y - 0.16 - share * 0.16, x + side * reach + 0.05, nape.y - 0.24 - share * 0.16),
              0.016,
              shade,
            );
          }
        }
      if (kind.extra === 'spots')
        for (const [x, y, across] of [
          [-0.3, 0.3, 0.17],
          [0.24, 0.42, 0.14],
          [-0.02, 0.72, 0.11],
        ] as const) {
          fillEllipse(context, { x: half * x * 1.6, y: back + deep * y }, across, across * 0.62, mix(dark, coat, 0.1));
        }
      fillEllipse(
        context,
        { x: nape.x + long * 0.36, y: nape.y + tall * 0.02 },
        0.014,
        0.016,
        kind.extra === 'wool' ? bright : dark,
      );
      limb(-half * 0.82, -0.02, coat);
      limb(half * 0.68, -0.015, coat);
      if (stage.isFlat) return;
      strokeLine(
        context,
        points(-half * 0.86, back + 0.02, -half * 0.3, back + deep * 0.08, half * 0.35, back + deep * 0.07),
        0.022,
        bright,
        0.7,
      );
    });
  };
}

/** An owl, upright, looking at the viewer. */
export const drawOwl: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const coat = lit(palette, look.colour ?? hex('#8a6a4c'), look.depth);
  const pale = lit(palette, hex('#ead9b8'), look.depth);
  at(context, foot, size, look.facing, () => {
    fillCurve(
      context,
      points(
        -0.24,
        -0.08,
        -0.3,
        -0.5,
        -0.27,
        -0.82,
        -0.22,
        -1,
        0,
        -0.9,
        0.22,
        -1,
        0.27,
        -0.82,
        0.3,
        -0.5,
        0.24,
        -0.08,
        0,
        0.02,
      ),
      coat,
    );
    fillCurve(context, points(-0.17, -0.1, -0.19, -0.42, 0, -0.56, 0.19, -0.42, 0.17, -0.1, 0, -0.03), pale);
    for (let row = 0; row < 4; row++)
      for (let mark = -2; mark <= 2; mark++)
        fillEllipse(
          context,
          { x: mark * 0.055 + (row % 2) * 0.02, y: -0.4 + row * 0.09 },
          0.016,
          0.024,
          adjust(coat, -0.05),
        );
    fillCurve(context, points(-0.27, -0.66, -0.36, -0.4, -0.22, -0.06, -0.18, -0.4), adjust(coat, -0.1));
    fillCurve(context, points(0.27, -0.66, 0.36, -0.4, 0.22, -0.06, 0.18, -0.4), adjust(coat, -0.1));
    for (const side of [-1, 1]) {
      fillEllipse(context, { x: side * 0.115, y: -0.74 }, 0.12, 0.12, pale);
      fillEllipse(context, { x: side * 0.11, y: -0.74 }, 0.075, 0.075, lit(palette, hex('#f5b83a'), look.depth * 0.5));
      fillEllipse(context, { x: side * 0.105, y: -0.74 }, 0.042, 0.042, hex('#1b1516'));
      fillEllipse(context, { x: side * 0.105 + 0.016, y: -0.757 }, 0.013, 0.013, hex('#ffffff'));
      fillEllipse(context, { x: side * 0.09, y: 0 }, 0.06, 0.022, lit(palette, hex('#d99a3c'), look.depth));
    }
    fillShape(context, points(-0.035, -0.7, 0.035, -0.7, 0, -0.6), lit(palette, hex('#e0a23a'), look.depth));
  });
};

export const drawCat = sitting({ coat: '#3b3a40', belly: '#6d6a70', ear: 'pointed', tail: 'thin', snout: -0.02 });
export const drawDog = sitting({ coat: '#a8743f', belly: '#f0e2c8', ear: 'hanging', tail: 'thin', snout: 0.07 });
export const drawFox = sitting({ coat: '#d8692a', belly: '#f7ecdc', ear: 'pointed', tail: 'bushy', snout: 0.07 });
export const drawWolf = sitting({ coat: '#7c828c', belly: '#d9dbdd', ear: 'pointed', tail: 'bushy', snout: 0.08 });
export const drawRabbit = sitting({ coat: '#b39a82', belly: '#f1e9df', ear: 'long', tail: 'puff', snout: -0.02 });

export const drawHorse = standing({
  coat: '#8a5233',
  leg: 0.44,
  deep: 0.25,
  half: 0.4,
  neck: [0.16, 0.24, 0.16],
  head: [0.24, 0.12],
  tail: 'hair',
  extra: 'mane',
});
export const drawUnicorn = standing({
  coat: '#f4f0f5',
  leg: 0.44,
  deep: 0.25,
  half: 0.4,
  neck: [0.16, 0.24, 0.16],
  head: [0.24, 0.12],
  tail: 'hair',
  extra: 'horn',
});
export const drawDeer = standing({
  coat: '#a56b3f',
  leg: 0.42,
  deep: 0.2,
  half: 0.3,
  neck: [0.1, 0.18, 0.11],
  head: [0.18, 0.09],
  tail: 'short',
  extra: 'antlers',
});
export const drawBear = standing({
  coat: '#5d4230',
  leg: 0.34,
  deep: 0.48,
  half: 0.58,
  neck: [0.02, -0.02, 0.36],
  head: [0.27, 0.22],
  tail: 'short',
  ear: 'round',
});
export const drawCow = standing({
  coat: '#efe6da',
  leg: 0.36,
  deep: 0.38,
  half: 0.54,
  neck: [0.12, 0.06, 0.2],
  head: [0.26, 0.16],
  tail: 'tuft',
  extra: 'spots',
});
export const drawSheep = standing({
  coat: '#f3eee3',
  leg: 0.3,
  deep: 0.46,
  half: 0.42,
  neck: [0.06, 0.04, 0.16],
  head: [0.22, 0.16],
  tail: 'short',
  extra: 'wool',
});
export const drawLion = standing({
  coat: '#d6a152',
  leg: 0.38,
  deep: 0.32,
  half: 0.54,
  neck: [0.08, 0.12, 0.22],
  head: [0.24, 0.18],
  tail: 'tuft',
  extra: 'big-mane',
});
export const drawElephant = standing({
  coat: '#8d8b93',
  leg: 0.36,
  deep: 0.46,
  half: 0.5,
  neck: [0.12, -0.02, 0.26],
  head: [0.26, 0.24],
  tail: 'tuft',
  extra: 'trunk',
});
export const drawCamel = standing({
  coat: '#c99a5f',
  leg: 0.46,
  deep: 0.26,
  half: 0.38,
  neck: [0.24, 0.2, 0.12],
  head: [0.2, 0.1],
  tail: 'tuft',
  extra: 'hump',
});
