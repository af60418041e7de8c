/**
 * Animals that sit, in profile: cat, dog, fox, wolf and rabbit, built from one set of proportions each; and the owl.
 * Drawn facing right in a square whose side is their height.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import { at, downwards, fillCurve, fillEllipse, fillShape, outline, points, strokeLine } from '../draw.ts';
import { lit } from '../palette.ts';
import type { DrawThing } from '../stage.ts';

interface Sitter {
  readonly coat: string;
  readonly belly: string;
  readonly ear: 'pointed' | 'hanging' | 'long';
  readonly tail: 'bushy' | 'thin' | 'puff';
  readonly snout: number;
  /** For a cat: light, with a slit; other eyes are dark. */
  readonly eye?: string;
}

/** An animal that sits with its tail round its feet. */
function sitting(kind: Sitter): DrawThing {
  return (stage, foot, size, look) => {
    const { context, palette } = stage;
    const coat = lit(palette, look.colour ?? hex(kind.coat), look.depth);
    const belly = lit(palette, look.colour === undefined ? hex(kind.belly) : adjust(look.colour, 0.2, 0.5), look.depth);
    const shade = adjust(coat, -0.09);
    const dark = mix(lit(palette, hex('#2a2224'), look.depth), palette.land, 0.2);
    at(context, foot, size, look.facing, () => {
      const top = mix(adjust(coat, 0.05), palette.rim, palette.isDark ? 0.12 : 0.2);
      const form = stage.isFlat ? coat : downwards(context, -0.92, 0, css(top), css(coat), css(adjust(coat, -0.08)));
      if (!stage.isFlat) fillEllipse(context, { x: -0.06, y: 0 }, 0.36, 0.025, css(palette.land, 0.28));
      if (kind.tail === 'bushy') {
        fillCurve(
          context,
          outline('-0.2,-0.03 -0.42,-0.02 -0.62,-0.16 -0.6,-0.36 -0.5,-0.42 -0.46,-0.26 -0.34,-0.18 -0.16,-0.18'),
          shade,
        );
        fillCurve(context, outline('-0.62,-0.2 -0.61,-0.36 -0.5,-0.43 -0.48,-0.34 -0.55,-0.26'), belly);
      } else if (kind.tail === 'thin') {
        strokeLine(context, outline('-0.2,-0.06 -0.36,-0.03 -0.46,-0.1 -0.48,-0.24 -0.42,-0.32'), 0.065, shade);
      } else fillEllipse(context, { x: -0.27, y: -0.14 }, 0.08, 0.08, belly);
      // Back, haunch, chest and front legs as one curve.
      fillCurve(
        context,
        outline(
          '-0.3,0 -0.34,-0.16 -0.26,-0.36 -0.13,-0.52 -0.05,-0.66 0.12,-0.68 0.2,-0.5 0.21,-0.3 0.2,-0.06 0.25,0 0.1,0.005 0.07,-0.12 0,-0.02 0.03,0.005',
        ),
        form,
      );
      fillCurve(context, outline('0.08,-0.62 0.19,-0.52 0.205,-0.34 0.17,-0.2 0.1,-0.32'), belly);
      // Locks of the chest, and the gap between the front legs.
      for (const [x, y] of [
        [0.12, -0.3],
        [0.15, -0.22],
        [0.17, -0.36],
      ] as const)
        strokeLine(context, points(x - 0.02, y - 0.07, x, y), 0.014, adjust(belly, -0.08), 0.5);
      strokeLine(context, outline('0.13,-0.02 0.14,-0.2'), 0.012, shade, 0.8);
      fillCurve(context, outline('-0.29,-0.01 -0.3,-0.2 -0.12,-0.29 0.01,-0.18 0.03,-0.01'), css(shade, 0.75));
      strokeLine(context, outline('-0.12,-0.29 0.0,-0.2 0.02,-0.08'), 0.012, dark, 0.22);
      fillEllipse(context, { x: 0.02, y: -0.02 }, 0.09, 0.03, coat);
      const head = { x: 0.1, y: -0.76 };
      if (kind.ear === 'pointed') {
        fillShape(context, outline('-0.05,-0.8 -0.06,-1 0.07,-0.87'), shade);
        fillShape(context, outline('0.06,-0.86 0.12,-1.02 0.2,-0.82'), coat);
        fillShape(context, outline('0.09,-0.87 0.125,-0.97 0.17,-0.84'), mix(coat, dark, 0.4));
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
      fillEllipse(context, head, 0.165, 0.145, form);
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
        fillCurve(context, outline('-0.02,-0.86 0.06,-0.84 0.05,-0.66 -0.02,-0.58 -0.08,-0.7'), shade);
      if (kind.eye !== undefined)
        fillEllipse(context, { x: 0.163, y: -0.785 }, 0.028, 0.027, lit(palette, hex(kind.eye), look.depth));
      fillEllipse(context, { x: 0.165, y: -0.785 }, kind.eye === undefined ? 0.021 : 0.011, 0.024, dark);
      fillEllipse(context, { x: 0.172, y: -0.793 }, 0.007, 0.008, css(hex('#ffffff'), 0.9));
      strokeLine(
        context,
        points(0.22 + kind.snout * 0.8, -0.72, 0.2 + kind.snout * 0.6, -0.69, 0.15, -0.685),
        0.008,
        dark,
        0.6,
      );
      if (kind.eye !== undefined) {
        for (const [y, lift] of [
          [-0.72, -0.03],
          [-0.705, 0.0],
          [-0.69, 0.03],
        ] as const)
          strokeLine(context, points(0.19, y, 0.34, y + lift), 0.005, mix(coat, hex('#ffffff'), 0.7), 0.8);
      }
      if (kind.ear === 'hanging')
        strokeLine(
          context,
          outline('0.02,-0.63 0.11,-0.6 0.18,-0.58'),
          0.035,
          lit(palette, hex('#b8352f'), look.depth),
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
      outline('-0.24,-0.08 -0.3,-0.5 -0.27,-0.82 -0.22,-1 0,-0.9 0.22,-1 0.27,-0.82 0.3,-0.5 0.24,-0.08 0,0.02'),
      coat,
    );
    fillCurve(context, outline('-0.17,-0.1 -0.19,-0.42 0,-0.56 0.19,-0.42 0.17,-0.1 0,-0.03'), pale);
    for (let row = 0; row < 4; row++)
      for (let mark = -2; mark <= 2; mark++)
        fillEllipse(
          context,
          { x: mark * 0.055 + (row % 2) * 0.02, y: -0.4 + row * 0.09 },
          0.016,
          0.024,
          adjust(coat, -0.05),
        );
    fillCurve(context, outline('-0.27,-0.66 -0.36,-0.4 -0.22,-0.06 -0.18,-0.4'), adjust(coat, -0.1));
    fillCurve(context, outline('0.27,-0.66 0.36,-0.4 0.22,-0.06 0.18,-0.4'), adjust(coat, -0.1));
    for (const side of [-1, 1]) {
      fillEllipse(context, { x: side * 0.115, y: -0.74 }, 0.12, 0.12, pale);
      fillEllipse(context, { x: side * 0.11, y: -0.74 }, 0.075, 0.075, lit(palette, hex('#f5b83a'), look.depth * 0.5));
      fillEllipse(context, { x: side * 0.105, y: -0.74 }, 0.042, 0.042, hex('#1b1516'));
      fillEllipse(context, { x: side * 0.105 + 0.016, y: -0.757 }, 0.013, 0.013, hex('#ffffff'));
      fillEllipse(context, { x: side * 0.09, y: 0 }, 0.06, 0.022, lit(palette, hex('#d99a3c'), look.depth));
    }
    fillShape(context, outline('-0.035,-0.7 0.035,-0.7 0,-0.6'), lit(palette, hex('#e0a23a'), look.depth));
  });
};

export const drawCat = sitting({
  coat: '#3b3a40',
  belly: '#6d6a70',
  ear: 'pointed',
  tail: 'thin',
  snout: -0.02,
  eye: '#b9cf5a',
});
export const drawDog = sitting({ coat: '#a8743f', belly: '#f0e2c8', ear: 'hanging', tail: 'thin', snout: 0.07 });
export const drawFox = sitting({ coat: '#d8692a', belly: '#f7ecdc', ear: 'pointed', tail: 'bushy', snout: 0.07 });
export const drawWolf = sitting({ coat: '#7c828c', belly: '#d9dbdd', ear: 'pointed', tail: 'bushy', snout: 0.08 });
export const drawRabbit = sitting({ coat: '#b39a82', belly: '#f1e9df', ear: 'long', tail: 'puff', snout: -0.02 });
