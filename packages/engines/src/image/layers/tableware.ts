/**
 * Things on tables: cups, pots, bottles, vases, candles, books, clocks. Each stands on its foot; its size is its
 * height. Light comes from the left.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { at, fillBox, fillCurve, fillEllipse, fillShape, glow, outline, points, strokeLine } from '../draw.ts';
import { lit } from '../palette.ts';
import type { DrawThing } from '../stage.ts';
import { drawContact, rounded } from './volumes.ts';

const STEAM = hex('#ffffff');

/** A thing of a few colours, drawn in units of its height. */
function ware(
  colours: readonly [string, ...string[]],
  half: number,
  draw: (
    context: Parameters<typeof at>[0],
    colour: Colour,
    stage: Parameters<DrawThing>[0],
    look: Parameters<DrawThing>[3],
  ) => void,
): DrawThing {
  return (stage, foot, size, look) => {
    const [first, ...others] = colours;
    const colour = lit(stage.palette, look.colour ?? hex(look.random.pick([first, ...others])), look.depth);
    at(stage.context, foot, size, 1, () => {
      drawContact(stage.context, { x: 0, y: -0.005 }, half);
      draw(stage.context, colour, stage, look);
    });
  };
}

export const drawCup: DrawThing = ware(
  ['#f2efe6', '#c94f3d', '#3f7f8a', '#e0a53a', '#54678f'],
  0.62,
  (context, colour) => {
    fillEllipse(context, { x: 0, y: -0.05 }, 0.78, 0.1, rounded(context, -0.78, 0.78, adjust(colour, -0.03)));
    fillEllipse(context, { x: 0, y: -0.075 }, 0.6, 0.07, css(adjust(colour, -0.12), 0.8));
    strokeLine(context, outline('0.42,-0.72 0.62,-0.76 0.72,-0.56 0.62,-0.36 0.36,-0.3'), 0.085, adjust(colour, -0.07));
    fillCurve(
      context,
      outline('-0.5,-0.92 -0.49,-0.6 -0.4,-0.26 -0.24,-0.08 0.24,-0.08 0.4,-0.26 0.49,-0.6 0.5,-0.92 0,-0.86'),
      rounded(context, -0.5, 0.5, colour),
    );
    fillEllipse(context, { x: 0, y: -0.89 }, 0.475, 0.1, adjust(colour, 0.05));
    fillEllipse(context, { x: 0, y: -0.88 }, 0.43, 0.08, hex('#4a2817'));
    fillEllipse(context, { x: -0.06, y: -0.885 }, 0.3, 0.045, css(hex('#8a5a33'), 0.8));
    for (const [x, turn] of [
      [-0.12, 0],
      [0.1, 2.4],
    ] as const) {
      const wisp = Array.from({ length: 24 }, (_, step) => ({
        x: x + Math.sin(step * 0.34 + turn) * 0.012 * (step / 3),
        y: -0.98 - step * 0.027,
      }));
      for (const [wide, alpha] of [
        [0.11, 0.05],
        [0.06, 0.07],
        [0.025, 0.09],
      ] as const)
        strokeLine(context, wisp, wide, STEAM, alpha);
    }
  },
);

export const drawTeapot: DrawThing = ware(['#3f7f8a', '#b9503c', '#e8e2d2', '#4c5f7e'], 0.62, (context, colour) => {
  strokeLine(context, outline('-0.5,-0.62 -0.82,-0.66 -0.84,-0.34 -0.48,-0.24'), 0.09, adjust(colour, -0.08));
  fillCurve(
    context,
    outline('0.44,-0.42 0.72,-0.56 0.84,-0.82 0.94,-0.82 0.88,-0.5 0.62,-0.2 0.44,-0.2'),
    rounded(context, 0.44, 0.94, colour),
  );
  fillCurve(
    context,
    outline('-0.3,-0.74 -0.62,-0.5 -0.58,-0.16 -0.34,-0.01 0.34,-0.01 0.58,-0.16 0.62,-0.5 0.3,-0.74 0,-0.8'),
    rounded(context, -0.6, 0.6, colour),
  );
  fillEllipse(context, { x: 0, y: -0.74 }, 0.3, 0.06, adjust(colour, -0.1));
  fillCurve(
    context,
    outline('-0.27,-0.75 -0.18,-0.88 0.18,-0.88 0.27,-0.75 0,-0.71'),
    rounded(context, -0.27, 0.27, adjust(colour, 0.03)),
  );
  fillEllipse(context, { x: 0, y: -0.93 }, 0.075, 0.07, adjust(colour, 0.02));
  fillEllipse(context, { x: -0.28, y: -0.5 }, 0.07, 0.16, css(hex('#ffffff'), 0.3), 0.25);
});

export const drawBottle: DrawThing = ware(['#2d4a35', '#5a2a25', '#2f4a5c'], 0.2, (context, colour) => {
  fillCurve(
    context,
    outline(
      '-0.06,-0.98 -0.06,-0.74 -0.15,-0.6 -0.16,-0.5 -0.16,-0.02 -0.1,0 0.1,0 0.16,-0.02 0.16,-0.5 0.15,-0.6 0.06,-0.74 0.06,-0.98',
    ),
    rounded(context, -0.16, 0.16, colour),
  );
  fillBox(context, -0.055, -1, 0.11, 0.1, rounded(context, -0.055, 0.055, hex('#8f2f2a')));
  fillBox(context, -0.155, -0.42, 0.31, 0.26, rounded(context, -0.155, 0.155, hex('#eee3c8')));
  fillBox(context, -0.1, -0.36, 0.2, 0.02, hex('#8a6a3c'));
  fillBox(context, -0.07, -0.3, 0.14, 0.014, hex('#8a6a3c'));
  fillBox(context, -0.12, -0.72, 0.02, 0.66, css(hex('#ffffff'), 0.28));
});

export const drawGoblet: DrawThing = ware(['#7d1f2c', '#e5c76a', '#7d1f2c'], 0.24, (context, colour) => {
  fillEllipse(context, { x: 0, y: -0.02 }, 0.24, 0.035, css(hex('#dfe8ec'), 0.65));
  fillBox(context, -0.017, -0.44, 0.034, 0.42, css(hex('#e8f0f2'), 0.75));
  fillCurve(
    context,
    outline('-0.26,-0.98 -0.3,-0.72 -0.22,-0.5 0,-0.42 0.22,-0.5 0.3,-0.72 0.26,-0.98 0,-1'),
    css(hex('#eaf2f5'), 0.4),
  );
  fillCurve(
    context,
    outline('-0.27,-0.72 -0.21,-0.52 0,-0.44 0.21,-0.52 0.27,-0.72 0,-0.76'),
    rounded(context, -0.27, 0.27, colour),
  );
  fillEllipse(context, { x: 0, y: -0.73 }, 0.27, 0.05, adjust(colour, 0.08));
  fillEllipse(context, { x: -0.17, y: -0.76 }, 0.03, 0.16, css(hex('#ffffff'), 0.55), 0.12);
});

export const drawVase: DrawThing = ware(
  ['#3f6f8a', '#e9e2d4', '#a3523c', '#4f7d6a', '#31405e'],
  0.3,
  (context, colour, stage, look) => {
    const petals = ['#e8604c', '#f0a8b8', '#f3c24a', '#b48ad0', '#f7f0e2'].map((code) => lit(stage.palette, hex(code)));
    const leaf = lit(stage.palette, hex('#4f7a46'));
    const heads = Array.from({ length: 13 }, (_, index) => {
      const angle = Math.PI * (1.04 + (0.92 * (index + look.random.between(-0.3, 0.3))) / 12);
      const reach = look.random.between(0.26, 0.46);
      return { x: Math.cos(angle) * reach * 0.95, y: -0.52 + Math.sin(angle) * reach };
    });
    for (const head of heads)
      strokeLine(
        context,
        points(0, -0.46, head.x * 0.5, (head.y - 0.46) / 2 - 0.03, head.x, head.y),
        0.014,
        adjust(leaf, -0.05),
      );
    for (let index = 0; index < 9; index++) {
      const angle = look.random.between(-2.9, -0.2);
      fillEllipse(
        context,
        { x: Math.cos(angle) * 0.24, y: -0.52 + Math.sin(angle) * 0.22 },
        0.1,
        0.032,
        adjust(leaf, look.random.between(-0.07, 0.06)),
        angle,
      );
    }
    for (const head of heads.toSorted((one, other) => one.y - other.y)) {
      const tone = petals[look.random.integer(0, petals.length - 1)] ?? colour;
      const size = look.random.between(0.06, 0.095);
      for (let petal = 0; petal < 7; petal++) {
        const angle = (petal / 7) * Math.PI * 2 + head.x * 5;
        fillEllipse(
          context,
          { x: head.x + Math.cos(angle) * size * 0.62, y: head.y + Math.sin(angle) * size * 0.55 },
          size * 0.56,
          size * 0.4,
          adjust(tone, petal < 3 ? 0.04 : -0.05),
          angle,
        );
      }
      fillEllipse(context, head, size * 0.32, size * 0.28, mix(tone, hex('#5a2d16'), 0.55));
    }
    fillCurve(
      context,
      outline('-0.1,-0.5 -0.08,-0.42 -0.22,-0.26 -0.2,-0.06 -0.12,0 0.12,0 0.2,-0.06 0.22,-0.26 0.08,-0.42 0.1,-0.5'),
      rounded(context, -0.22, 0.22, colour),
    );
    fillEllipse(context, { x: 0, y: -0.47 }, 0.085, 0.02, adjust(colour, -0.2));
    fillEllipse(context, { x: -0.1, y: -0.22 }, 0.024, 0.09, css(hex('#ffffff'), 0.35), 0.1);
  },
);

export const drawCandle: DrawThing = ware(['#f3ead3', '#d8c7a0', '#c9463a'], 0.24, (context, colour) => {
  fillEllipse(context, { x: 0, y: -0.02 }, 0.3, 0.05, hex('#a8793a'));
  fillEllipse(context, { x: 0, y: -0.045 }, 0.24, 0.04, hex('#d8ab5c'));
  fillBox(context, -0.11, -0.7, 0.22, 0.66, rounded(context, -0.11, 0.11, colour));
  fillEllipse(context, { x: 0, y: -0.7 }, 0.11, 0.03, mix(colour, hex('#fff3c8'), 0.7));
  strokeLine(context, outline('0,-0.7 0.005,-0.77'), 0.012, hex('#33241c'));
  context.save();
  context.globalCompositeOperation = 'screen';
  glow(context, { x: 0, y: -0.85 }, 1.5, hex('#ffb44c'), 0.5);
  glow(context, { x: 0, y: -0.85 }, 0.4, hex('#ffd98a'), 0.6);
  context.restore();
  fillCurve(context, outline('0,-1 0.055,-0.86 0.04,-0.77 0,-0.75 -0.04,-0.77 -0.055,-0.86'), hex('#ffc45a'));
  fillCurve(context, outline('0,-0.93 0.025,-0.84 0,-0.78 -0.025,-0.84'), hex('#fff6d8'));
});

export const drawBook: DrawThing = ware(
  ['#8a3b34', '#35566b', '#4d6b4a', '#b0863c'],
  0.9,
  (context, colour, stage, look) => {
    const covers = [colour, ...['#35566b', '#b0863c', '#6b3f5c'].map((code) => lit(stage.palette, hex(code)))];
    for (const [index, cover] of covers.slice(0, 3).entries()) {
      const y = -0.3 * index;
      const shift = look.random.between(-0.09, 0.09);
      fillBox(context, -0.82 + shift, y - 0.3, 1.64, 0.3, rounded(context, -0.9, 0.9, cover));
      fillBox(context, -0.76 + shift, y - 0.255, 1.6, 0.2, hex('#efe6cf'));
      for (let page = 0; page < 4; page++)
        fillBox(context, -0.76 + shift, y - 0.24 + page * 0.045, 1.6, 0.008, css(hex('#a8946a'), 0.6));
      fillBox(context, -0.86 + shift, y - 0.3, 0.14, 0.3, adjust(cover, -0.06));
      fillBox(context, -0.84 + shift, y - 0.24, 0.02, 0.18, hex('#e3c069'));
    }
  },
);

export const drawClock: DrawThing = ware(['#7a4a2c', '#3f4a5c'], 0.4, (context, colour) => {
  fillCurve(
    context,
    outline('-0.44,0 -0.42,-0.12 -0.3,-0.2 0.3,-0.2 0.42,-0.12 0.44,0'),
    rounded(context, -0.44, 0.44, adjust(colour, -0.05)),
  );
  fillEllipse(context, { x: 0, y: -0.56 }, 0.43, 0.43, rounded(context, -0.43, 0.43, colour));
  fillEllipse(context, { x: 0, y: -0.56 }, 0.36, 0.36, hex('#d9b25e'));
  fillEllipse(context, { x: 0, y: -0.56 }, 0.335, 0.335, hex('#f8f1de'));
  for (let hour = 0; hour < 12; hour++) {
    const angle = (hour / 12) * Math.PI * 2;
    strokeLine(
      context,
      points(
        Math.cos(angle) * 0.27,
        -0.56 + Math.sin(angle) * 0.27,
        Math.cos(angle) * 0.31,
        -0.56 + Math.sin(angle) * 0.31,
      ),
      0.022,
      hex('#33291f'),
    );
  }
  strokeLine(context, outline('0,-0.56 -0.13,-0.67'), 0.03, hex('#33291f'));
  strokeLine(context, outline('0,-0.56 0.15,-0.75'), 0.02, hex('#33291f'));
  fillEllipse(context, { x: 0, y: -0.56 }, 0.025, 0.025, hex('#b0392c'));
});

export const drawHouseplant: DrawThing = ware(
  ['#c4673f', '#e5ddcd', '#556270'],
  0.3,
  (context, colour, stage, look) => {
    const leaf = lit(stage.palette, hex('#3d7a4c'));
    for (let index = 0; index < 17; index++) {
      const angle = -Math.PI / 2 + look.random.between(-1.25, 1.25);
      const reach = look.random.between(0.3, 0.62);
      const tip = { x: Math.cos(angle) * reach * 0.8, y: -0.34 + Math.sin(angle) * reach };
      const tone = adjust(leaf, look.random.between(-0.09, 0.07));
      strokeLine(context, points(0, -0.32, tip.x * 0.45, (tip.y - 0.4) / 2, tip.x, tip.y), 0.013, adjust(leaf, -0.1));
      fillEllipse(context, tip, 0.14, 0.062, tone, angle + look.random.between(-0.5, 0.5));
      fillEllipse(context, { x: tip.x - 0.01, y: tip.y - 0.012 }, 0.1, 0.022, css(adjust(tone, 0.09), 0.7), angle);
    }
    fillShape(context, outline('-0.22,-0.34 0.22,-0.34 0.16,0 -0.16,0'), rounded(context, -0.22, 0.22, colour));
    fillBox(context, -0.24, -0.37, 0.48, 0.07, rounded(context, -0.24, 0.24, adjust(colour, 0.03)));
  },
);
