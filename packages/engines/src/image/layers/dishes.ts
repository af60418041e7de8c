/**
 * Dishes on a table: pizza, burgers, noodles, pancakes, doughnuts, ice cream; and a crystal ball. Each stands on its
 * foot; its size is its height. Light comes from the left.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { at, fillBox, fillCurve, fillEllipse, fillShape, glow, outline, points, strokeLine } from '../draw.ts';
import { lit } from '../palette.ts';
import type { Context, DrawThing } from '../stage.ts';
import { drawBall, drawContact, globe, rounded } from './volumes.ts';

/** A dish drawn in units of its height, over its contact with the table. */
function dish(
  half: number,
  draw: (context: Context, own: (code: string) => Colour, chosen: Colour | undefined) => void,
): DrawThing {
  return (stage, foot, size, look) => {
    const { context, palette } = stage;
    at(context, foot, size, 1, () => {
      drawContact(context, { x: 0, y: -0.005 }, half);
      draw(
        context,
        (code) => lit(palette, hex(code), look.depth),
        look.colour === undefined ? undefined : lit(palette, look.colour, look.depth),
      );
    });
  };
}

function plate(context: Context, half: number, colour: Colour): void {
  fillEllipse(context, { x: 0, y: -0.06 }, half, half * 0.2, rounded(context, -half, half, colour));
  fillEllipse(context, { x: 0, y: -0.075 }, half * 0.74, half * 0.14, adjust(colour, -0.05));
}

function steam(context: Context, top: number, positions: readonly number[]): void {
  for (const [index, x] of positions.entries()) {
    const wisp = Array.from({ length: 22 }, (_, step) => ({
      x: x + Math.sin(step * 0.36 + index * 2) * 0.02 * (step / 4),
      y: top - step * 0.03,
    }));
    for (const [wide, alpha] of [
      [0.14, 0.04],
      [0.07, 0.06],
      [0.03, 0.07],
    ] as const)
      strokeLine(context, wisp, wide, hex('#ffffff'), alpha);
  }
}

/** Seen from above the edge of the table: a round of dough with its toppings. */
export const drawPizza: DrawThing = dish(1.75, (context, own) => {
  fillEllipse(context, { x: 0, y: -0.3 }, 1.85, 0.64, rounded(context, -1.85, 1.85, own('#8a5a34')));
  fillEllipse(context, { x: 0, y: -0.36 }, 1.82, 0.62, own('#a5703f'));
  fillEllipse(context, { x: 0, y: -0.44 }, 1.62, 0.55, rounded(context, -1.62, 1.62, own('#d69a4c')));
  fillEllipse(context, { x: 0, y: -0.5 }, 1.6, 0.53, own('#e6b265'));
  fillEllipse(context, { x: 0, y: -0.5 }, 1.38, 0.44, own('#c0392b'));
  fillEllipse(context, { x: 0, y: -0.51 }, 1.34, 0.42, css(own('#f4cf6a'), 0.9));
  for (let spot = 0; spot < 20; spot++) {
    const angle = spot * 2.4;
    const reach = Math.sqrt((spot + 0.5) / 20) * 1.18;
    const position = { x: Math.cos(angle) * reach, y: -0.51 + Math.sin(angle) * reach * 0.32 };
    if (spot % 3 === 0) {
      fillEllipse(context, position, 0.2, 0.075, own('#8f2a22'));
      fillEllipse(context, { x: position.x, y: position.y - 0.015 }, 0.19, 0.07, own('#c2443a'));
    } else if (spot % 3 === 1) fillEllipse(context, position, 0.16, 0.055, css(own('#fff0b8'), 0.95));
    else {
      fillEllipse(context, position, 0.12, 0.035, own('#3f7d3a'), angle);
      fillEllipse(context, { x: position.x + 0.05, y: position.y }, 0.09, 0.028, own('#5b9a48'), angle + 1);
    }
  }
  for (let cut = 0; cut < 3; cut++) {
    const angle = cut * 1.05 + 0.3;
    strokeLine(
      context,
      points(
        Math.cos(angle) * 1.5,
        -0.5 + Math.sin(angle) * 0.48,
        -Math.cos(angle) * 1.5,
        -0.5 - Math.sin(angle) * 0.48,
      ),
      0.016,
      own('#a5562f'),
      0.6,
    );
  }
  steam(context, -0.8, [-0.5, 0.4]);
});

export const drawBurger: DrawThing = dish(0.78, (context, own) => {
  plate(context, 1.02, own('#eeeae0'));
  fillCurve(
    context,
    outline('-0.66,-0.32 -0.64,-0.12 -0.4,-0.07 0.4,-0.07 0.64,-0.12 0.66,-0.32'),
    rounded(context, -0.66, 0.66, own('#d2944c')),
  );
  fillCurve(
    context,
    outline('-0.7,-0.42 -0.72,-0.28 0.72,-0.28 0.7,-0.42 0,-0.46'),
    rounded(context, -0.72, 0.72, own('#5a3220')),
  );
  fillShape(
    context,
    outline('-0.72,-0.44 0.72,-0.44 0.5,-0.3 0.28,-0.42 0,-0.26 -0.3,-0.42 -0.5,-0.32'),
    own('#f2b632'),
  );
  fillBox(context, -0.64, -0.52, 1.28, 0.08, rounded(context, -0.64, 0.64, own('#cf3a2c')));
  const leaf = Array.from({ length: 13 }, (_, step) => ({ x: -0.76 + step * 0.127, y: -0.52 + (step % 2) * 0.06 }));
  fillCurve(context, [...leaf, ...points(0.7, -0.6, -0.7, -0.6)], own('#6fae3c'));
  fillCurve(
    context,
    outline('-0.68,-0.56 -0.66,-0.82 -0.36,-1 0.36,-1 0.66,-0.82 0.68,-0.56 0,-0.53'),
    globe(context, { x: 0, y: -0.7 }, 0.72, own('#d2944c')),
  );
  for (let seed = 0; seed < 16; seed++) {
    const x = -0.46 + ((seed * 7) % 16) * 0.06;
    fillEllipse(context, { x, y: -0.94 + x * x * 0.4 + (seed % 4) * 0.05 }, 0.028, 0.016, own('#f7e6bc'), 0.5);
  }
  for (let chip = 0; chip < 7; chip++) {
    const x = 0.72 + (chip % 4) * 0.09;
    strokeLine(
      context,
      points(x, -0.1, x + 0.05 - (chip % 3) * 0.07, -0.44 - (chip % 2) * 0.08),
      0.07,
      chip % 2 === 0 ? own('#f0c04c') : own('#dfa83a'),
    );
  }
});

export const drawNoodles: DrawThing = dish(0.8, (context, own, chosen) => {
  const bowl = chosen ?? own('#2f4a63');
  fillCurve(
    context,
    outline('-0.98,-0.66 -0.9,-0.36 -0.6,-0.1 -0.36,-0.02 0.36,-0.02 0.6,-0.1 0.9,-0.36 0.98,-0.66'),
    rounded(context, -1, 1, bowl),
  );
  fillBox(context, -0.36, -0.06, 0.72, 0.06, rounded(context, -0.36, 0.36, adjust(bowl, -0.08)));
  fillEllipse(context, { x: 0, y: -0.66 }, 0.99, 0.27, adjust(bowl, 0.08));
  fillEllipse(context, { x: 0, y: -0.65 }, 0.92, 0.235, own('#b06a2c'));
  fillEllipse(context, { x: -0.2, y: -0.68 }, 0.6, 0.14, css(own('#d99a4c'), 0.7));
  for (let strand = 0; strand < 22; strand++) {
    const x = -0.62 + strand * 0.05;
    const y = -0.66 + Math.sin(strand * 1.7) * 0.09;
    strokeLine(
      context,
      points(x - 0.2, y + 0.03, x - 0.05, y - 0.06, x + 0.1, y + 0.04, x + 0.24, y - 0.03),
      0.032,
      strand % 2 === 0 ? own('#f2d488') : own('#e3bd68'),
    );
  }
  for (const x of [-0.52, -0.3]) {
    fillEllipse(context, { x, y: -0.76 }, 0.2, 0.12, own('#fbf6ea'), -0.2);
    fillEllipse(context, { x, y: -0.76 }, 0.095, 0.06, own('#f09a2c'), -0.2);
  }
  for (const [x, y] of [
    [0.28, -0.78],
    [0.46, -0.72],
  ] as const) {
    fillEllipse(context, { x, y }, 0.22, 0.09, own('#b9694c'), 0.2);
    fillEllipse(context, { x, y: y - 0.012 }, 0.15, 0.05, own('#dba08a'), 0.2);
  }
  fillShape(context, outline('0.56,-0.66 0.6,-0.98 0.82,-0.96 0.8,-0.62'), own('#22352c'));
  for (let ring = 0; ring < 9; ring++)
    fillEllipse(
      context,
      { x: -0.06 + ((ring * 5) % 9) * 0.05, y: -0.6 + (ring % 3) * 0.035 },
      0.035,
      0.02,
      own('#6fae4c'),
    );
  for (const lean of [0, 0.09])
    strokeLine(context, points(-0.2 + lean, -0.7, 1.1 + lean * 0.4, -1.1 + lean * 0.6), 0.036, own('#8f3a2c'));
  steam(context, -0.86, [-0.3, 0.05, 0.4]);
});

export const drawPancakes: DrawThing = dish(0.85, (context, own) => {
  plate(context, 1.15, own('#f1ede4'));
  for (let layer = 0; layer < 6; layer++) {
    const y = -0.14 - layer * 0.115;
    const shift = Math.sin(layer * 2.1) * 0.03;
    fillEllipse(context, { x: shift, y }, 0.78, 0.17, rounded(context, -0.78, 0.78, own('#e8bd74')));
    fillEllipse(context, { x: shift, y: y - 0.045 }, 0.77, 0.165, rounded(context, -0.77, 0.77, own('#b9773a')));
  }
  const top = -0.78;
  fillEllipse(context, { x: 0, y: top }, 0.72, 0.15, own('#c98846'));
  fillCurve(
    context,
    outline(
      '-0.5,-0.82 -0.66,-0.72 -0.68,-0.44 -0.6,-0.42 -0.56,-0.66 -0.3,-0.7 -0.22,-0.34 -0.13,-0.34 -0.1,-0.68 0.26,-0.68 0.34,-0.5 0.42,-0.52 0.46,-0.7 0.6,-0.76 0.4,-0.86 0,-0.9',
    ),
    css(own('#8a3f14'), 0.88),
  );
  fillEllipse(context, { x: -0.2, y: -0.8 }, 0.26, 0.04, css(hex('#ffd9a0'), 0.4));
  fillShape(context, outline('-0.16,-0.84 0,-0.9 0.18,-0.85 0.18,-0.95 0.02,-1 -0.16,-0.94'), own('#f6d96a'));
  fillShape(context, outline('-0.16,-0.94 0.02,-1 0.18,-0.95 0,-0.89'), own('#fdf0a8'));
  for (const [x, y, colour] of [
    [-0.42, -0.87, '#b3263c'],
    [0.4, -0.88, '#3a4f8c'],
    [0.5, -0.82, '#3a4f8c'],
    [-0.92, -0.12, '#b3263c'],
    [0.94, -0.12, '#3a4f8c'],
  ] as const)
    drawBall(context, { x, y }, 0.075, own(colour));
});

export const drawDoughnut: DrawThing = dish(0.85, (context, own, chosen) => {
  const icing = chosen ?? own('#ec8fb4');
  fillEllipse(context, { x: 0, y: -0.4 }, 0.98, 0.4, rounded(context, -0.98, 0.98, own('#c98a48')));
  fillCurve(
    context,
    outline(
      '-0.94,-0.54 -0.8,-0.86 -0.3,-0.98 0.3,-0.98 0.8,-0.86 0.94,-0.54 0.8,-0.36 0.6,-0.42 0.4,-0.26 0.1,-0.36 -0.2,-0.22 -0.5,-0.38 -0.76,-0.32',
    ),
    rounded(context, -0.95, 0.95, icing),
  );
  fillEllipse(context, { x: 0, y: -0.68 }, 0.3, 0.1, own('#8a5a30'));
  fillEllipse(context, { x: 0, y: -0.64 }, 0.24, 0.06, own('#5a3820'));
  const colours = ['#f6e04a', '#4aa8e0', '#ffffff', '#6fc26a', '#e0503c'];
  for (let crumb = 0; crumb < 34; crumb++) {
    const angle = crumb * 2.4;
    const reach = 0.46 + ((crumb * 13) % 10) * 0.036;
    const position = { x: Math.cos(angle) * reach, y: -0.66 + Math.sin(angle) * reach * 0.36 };
    strokeLine(
      context,
      points(position.x - 0.03, position.y, position.x + 0.03, position.y + ((crumb % 3) - 1) * 0.03),
      0.026,
      own(colours[crumb % 5] ?? '#ffffff'),
    );
  }
  fillEllipse(context, { x: -0.42, y: -0.84 }, 0.2, 0.035, css(hex('#ffffff'), 0.45), -0.25);
});

export const drawIceCream: DrawThing = dish(0.3, (context, own, chosen) => {
  const glass = own('#dfeaf0');
  fillEllipse(context, { x: 0, y: -0.02 }, 0.24, 0.035, css(glass, 0.9));
  fillBox(context, -0.03, -0.24, 0.06, 0.22, css(glass, 0.9));
  const scoops = [chosen ?? own('#f2b5c4'), own('#f6ecc8'), own('#7a4a30')] as const;
  for (const [index, [x, y]] of (
    [
      [-0.19, -0.6],
      [0.2, -0.6],
      [0.01, -0.78],
    ] as const
  ).entries())
    drawBall(context, { x, y }, 0.22, scoops[index] ?? own('#f6ecc8'));
  fillCurve(
    context,
    outline('-0.12,-0.94 0.14,-0.94 0.24,-0.8 0.16,-0.66 0.1,-0.78 0.02,-0.66 -0.06,-0.78 -0.16,-0.7 -0.2,-0.82'),
    own('#4a2414'),
  );
  drawBall(context, { x: 0.03, y: -0.99 }, 0.06, own('#c8233c'));
  strokeLine(context, outline('0.04,-1.03 0.1,-1.14'), 0.014, own('#5a7a3a'));
  strokeLine(context, outline('0.24,-0.7 0.42,-1.08'), 0.06, own('#d9a860'));
  fillCurve(
    context,
    outline('-0.44,-0.62 -0.4,-0.36 -0.16,-0.22 0.16,-0.22 0.4,-0.36 0.44,-0.62 0,-0.54'),
    css(glass, 0.55),
  );
  strokeLine(context, outline('-0.43,-0.6 -0.36,-0.36 -0.18,-0.25'), 0.025, hex('#ffffff'), 0.7);
});

export const drawCrystalBall: DrawThing = dish(0.42, (context, own, chosen) => {
  const mist = chosen ?? own('#7a5fc0');
  fillCurve(context, outline('-0.4,-0.02 -0.3,-0.2 0.3,-0.2 0.4,-0.02'), rounded(context, -0.4, 0.4, own('#b5873a')));
  glow(context, { x: 0, y: -0.58 }, 0.85, mist, 0.5);
  fillEllipse(context, { x: 0, y: -0.58 }, 0.44, 0.42, globe(context, { x: 0, y: -0.58 }, 0.44, mist));
  for (let swirl = 0; swirl < 5; swirl++) {
    const curve = Array.from({ length: 12 }, (_, step) => {
      const angle = step * 0.42 + swirl * 1.26;
      const reach = 0.05 + step * 0.028;
      return { x: Math.cos(angle) * reach, y: -0.58 + Math.sin(angle) * reach * 0.9 };
    });
    strokeLine(context, curve, 0.03, mix(mist, hex('#d9f4ff'), 0.7), 0.28);
  }
  for (const [x, y] of [
    [0.1, -0.5],
    [-0.12, -0.62],
    [0.16, -0.72],
    [-0.04, -0.42],
  ] as const)
    fillEllipse(context, { x, y }, 0.012, 0.012, hex('#ffffff'));
  fillEllipse(context, { x: -0.17, y: -0.78 }, 0.1, 0.055, css(hex('#ffffff'), 0.75), -0.6);
});
