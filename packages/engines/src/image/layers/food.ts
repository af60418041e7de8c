/**
 * Food on a table: fruit, bread, cheese, cake, pumpkins. Each stands on its foot; its size is its height.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { at, fillBox, fillCurve, fillEllipse, fillShape, outline, points, strokeLine } from '../draw.ts';
import { lit } from '../palette.ts';
import type { Context, DrawThing, Point } from '../stage.ts';
import { drawBall, drawContact, globe, rounded } from './volumes.ts';

function stalk(context: Context, top: Point, size: number, colour: Colour): void {
  strokeLine(context, points(top.x, top.y + size * 0.1, top.x + size * 0.08, top.y - size * 0.3), size * 0.09, colour);
}

/** An apple around a centre. */
export function drawAppleAt(context: Context, centre: Point, radius: number, colour: Colour): void {
  const { x, y } = centre;
  const form = outline(
    '0,-0.78 0.42,-1 0.92,-0.66 0.95,-0.05 0.62,0.74 0.24,0.98 0,0.88 -0.24,0.98 -0.62,0.74 -0.95,-0.05 -0.92,-0.66 -0.42,-1',
  );
  fillCurve(
    context,
    form.map((corner) => ({ x: x + corner.x * radius, y: y + corner.y * radius })),
    globe(context, centre, radius, colour),
  );
  fillEllipse(
    context,
    { x: x + radius * 0.02, y: y - radius * 0.74 },
    radius * 0.3,
    radius * 0.09,
    css(adjust(colour, -0.22), 0.75),
  );
  fillEllipse(
    context,
    { x: x - radius * 0.42, y: y - radius * 0.4 },
    radius * 0.13,
    radius * 0.2,
    css(hex('#ffffff'), 0.42),
    0.5,
  );
  stalk(context, { x, y: y - radius * 0.8 }, radius, hex('#5a3d22'));
  fillEllipse(
    context,
    { x: x + radius * 0.32, y: y - radius * 1.08 },
    radius * 0.3,
    radius * 0.11,
    hex('#5f9147'),
    -0.4,
  );
}

export function drawPearAt(context: Context, centre: Point, radius: number, colour: Colour): void {
  const { x, y } = centre;
  const form = outline(
    '0,-1.55 0.28,-1.35 0.42,-0.8 0.86,-0.2 0.98,0.34 0.66,0.9 0,1 -0.66,0.9 -0.98,0.34 -0.86,-0.2 -0.42,-0.8 -0.28,-1.35',
  );
  fillCurve(
    context,
    form.map((corner) => ({ x: x + corner.x * radius, y: y + corner.y * radius })),
    globe(context, { x, y: y + radius * 0.1 }, radius * 1.15, colour),
  );
  fillEllipse(
    context,
    { x: x - radius * 0.36, y: y - radius * 0.1 },
    radius * 0.12,
    radius * 0.26,
    css(hex('#ffffff'), 0.32),
    0.35,
  );
  stalk(context, { x, y: y - radius * 1.45 }, radius, hex('#6a4a26'));
}

function drawGrapesAt(context: Context, top: Point, size: number, colour: Colour): void {
  for (const [row, many] of [4, 5, 4, 3, 2, 1].entries()) {
    for (let index = 0; index < many; index++) {
      const x = top.x + (index - (many - 1) / 2) * size * 0.34;
      drawBall(
        context,
        { x, y: top.y + row * size * 0.27 },
        size * 0.19,
        adjust(colour, ((index + row) % 3) * 0.03 - 0.03),
      );
    }
  }
  strokeLine(
    context,
    points(top.x, top.y - size * 0.12, top.x + size * 0.1, top.y - size * 0.42),
    size * 0.06,
    hex('#6a4a26'),
  );
}

/** A single fruit, on its foot. */
function single(code: string, draw: (context: Context, colour: Colour) => void, half = 0.5): DrawThing {
  return (stage, foot, size, look) => {
    const colour = lit(stage.palette, look.colour ?? hex(code), look.depth);
    at(stage.context, foot, size, 1, () => {
      drawContact(stage.context, { x: 0, y: -0.01 }, half);
      draw(stage.context, colour);
    });
  };
}

export const drawApple = single('#c8362e', (context, colour) => drawAppleAt(context, { x: 0, y: -0.44 }, 0.45, colour));
export const drawPear = single(
  '#c9bb4a',
  (context, colour) => drawPearAt(context, { x: 0, y: -0.37 }, 0.37, colour),
  0.4,
);
export const drawLemon = single(
  '#f2cf3c',
  (context, colour) => {
    fillCurve(
      context,
      outline(
        '-0.72,-0.36 -0.56,-0.5 -0.3,-0.7 0.3,-0.7 0.56,-0.5 0.74,-0.36 0.56,-0.22 0.3,-0.02 -0.3,-0.02 -0.56,-0.22',
      ),
      globe(context, { x: 0, y: -0.36 }, 0.6, colour),
    );
    fillEllipse(context, { x: -0.24, y: -0.54 }, 0.14, 0.05, css(hex('#ffffff'), 0.4), -0.3);
  },
  0.6,
);
export const drawCitrus = single('#f08a24', (context, colour) => {
  drawBall(context, { x: 0, y: -0.44 }, 0.44, colour);
  fillEllipse(context, { x: 0.04, y: -0.82 }, 0.05, 0.025, hex('#6a7a3a'));
});
export const drawGrapes = single(
  '#6b3f7d',
  (context, colour) => drawGrapesAt(context, { x: 0, y: -0.82 }, 0.5, colour),
  0.5,
);

const FILLINGS: Readonly<Record<string, readonly [string, string, string]>> = {
  citrus: ['#f08a24', '#e57a1a', '#f59d38'],
  apple: ['#c8362e', '#b52a2a', '#d6503c'],
  pear: ['#c9bb4a', '#b9b03f', '#d6c85a'],
  lemon: ['#f2cf3c', '#e6c02c', '#f7da5c'],
};

/** A heap of one fruit, the ones behind first. */
function fillBowl(context: Context, fruit: string, tone: (code: string) => Colour): void {
  const codes = FILLINGS[fruit] ?? ['#c8362e', '#c8362e', '#c8362e'];
  const heap = outline('-0.26,-0.7 0.24,-0.72 -0.02,-0.86 -0.56,-0.58 0.54,-0.58 -0.18,-0.6 0.2,-0.58');
  for (const [index, position] of heap.entries()) {
    const colour = tone(codes[index % 3] ?? codes[0]);
    if (fruit === 'apple') drawAppleAt(context, position, 0.2, colour);
    else if (fruit === 'pear') drawPearAt(context, position, 0.18, colour);
    else {
      drawBall(context, position, 0.21, colour);
      fillEllipse(context, { x: position.x + 0.03, y: position.y - 0.17 }, 0.022, 0.012, tone('#6a7a3a'));
    }
  }
}

export const drawFruitBowl: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const bowl = lit(
    palette,
    look.colour ?? hex(look.random.pick(['#4f7d8f', '#e6dfd0', '#8a5a3c', '#5a6f52'])),
    look.depth,
  );
  const tone = (code: string): Colour => lit(palette, hex(code), look.depth);
  at(context, foot, size, 1, () => {
    drawContact(context, { x: 0, y: -0.01 }, 0.66);
    fillEllipse(context, { x: 0, y: -0.52 }, 0.84, 0.13, adjust(bowl, -0.14));
    if (look.word !== undefined && Object.hasOwn(FILLINGS, look.word)) fillBowl(context, look.word, tone);
    else {
      drawPearAt(context, { x: -0.44, y: -0.66 }, 0.19, tone('#c9bb4a'));
      drawBall(context, { x: 0.42, y: -0.66 }, 0.2, tone('#f08a24'));
      drawAppleAt(context, { x: 0.02, y: -0.76 }, 0.22, tone('#c8362e'));
      drawBall(context, { x: -0.2, y: -0.58 }, 0.18, tone('#f3a83a'));
      drawAppleAt(context, { x: 0.26, y: -0.57 }, 0.19, tone('#8fae3f'));
      drawGrapesAt(context, { x: 0.63, y: -0.58 }, 0.3, tone('#6b3f7d'));
    }
    fillCurve(
      context,
      outline('-0.84,-0.5 -0.72,-0.2 -0.36,-0.02 0.36,-0.02 0.72,-0.2 0.84,-0.5 0.4,-0.41 -0.4,-0.41'),
      rounded(context, -0.84, 0.84, bowl),
    );
    fillCurve(
      context,
      outline('-0.86,-0.53 -0.4,-0.42 0.4,-0.42 0.86,-0.53 0.4,-0.375 -0.4,-0.375'),
      mix(bowl, hex('#ffffff'), 0.25),
    );
    fillBox(context, -0.28, -0.04, 0.56, 0.04, rounded(context, -0.28, 0.28, adjust(bowl, -0.06)));
  });
};

export const drawBread = single(
  '#b9773a',
  (context, colour) => {
    fillCurve(
      context,
      outline('-1.05,-0.12 -0.98,-0.44 -0.55,-0.66 0.5,-0.68 0.98,-0.46 1.05,-0.14 0.7,0 -0.7,0'),
      rounded(context, -1.05, 1.05, colour),
    );
    for (const x of [-0.6, -0.2, 0.2, 0.6]) {
      fillCurve(
        context,
        points(x - 0.16, -0.34, x - 0.02, -0.6, x + 0.12, -0.62, x, -0.36),
        mix(colour, hex('#f3dcae'), 0.75),
      );
    }
  },
  0.95,
);

export const drawCheese = single(
  '#f0c04a',
  (context, colour) => {
    fillShape(context, outline('-0.9,-0.34 0.85,-0.66 0.85,-0.1 -0.9,0'), rounded(context, -0.9, 1.2, colour));
    fillShape(context, outline('-0.9,-0.34 0.2,-0.78 0.85,-0.66'), mix(colour, hex('#fff3cf'), 0.5));
    for (const [x, y, radius] of [
      [-0.35, -0.22, 0.08],
      [0.2, -0.36, 0.1],
      [0.55, -0.24, 0.07],
      [0, -0.13, 0.05],
    ] as const)
      fillEllipse(context, { x, y }, radius, radius * 0.8, adjust(colour, -0.12));
  },
  0.85,
);

export const drawPumpkin = single(
  '#e0772a',
  (context, colour) => {
    for (const [x, wide] of [
      [-0.36, 0.26],
      [0.36, 0.26],
      [-0.2, 0.28],
      [0.2, 0.28],
      [0, 0.26],
    ] as const)
      fillEllipse(
        context,
        { x, y: -0.38 },
        wide,
        0.38,
        rounded(context, x - wide, x + wide, adjust(colour, -Math.abs(x) * 0.08)),
      );
    strokeLine(context, outline('0,-0.72 0.02,-0.84 0.1,-0.95'), 0.09, hex('#5f6f3a'));
  },
  0.6,
);

export const drawCake = single(
  '#f3e3d3',
  (context, colour) => {
    fillEllipse(context, { x: 0, y: -0.04 }, 0.78, 0.08, hex('#e9e6e0'));
    fillBox(context, -0.6, -0.52, 1.2, 0.46, rounded(context, -0.6, 0.6, colour));
    fillEllipse(context, { x: 0, y: -0.06 }, 0.6, 0.07, rounded(context, -0.6, 0.6, colour));
    fillBox(context, -0.6, -0.32, 1.2, 0.06, rounded(context, -0.6, 0.6, hex('#d9586a')));
    fillEllipse(context, { x: 0, y: -0.52 }, 0.6, 0.1, hex('#fff8f0'));
    for (let drip = 0; drip < 11; drip++) {
      const x = -0.55 + drip * 0.11;
      fillBox(context, x - 0.035, -0.52, 0.07, 0.1 + ((drip * 7) % 5) * 0.022, css(hex('#fff3ea')));
      fillEllipse(context, { x, y: -0.42 + ((drip * 7) % 5) * 0.022 }, 0.035, 0.03, css(hex('#fff3ea')));
    }
    for (const x of [-0.4, -0.2, 0, 0.2, 0.4]) {
      const y = -0.54 - Math.sqrt(1 - (x / 0.6) ** 2) * 0.02;
      drawBall(context, { x, y }, 0.065, hex('#c9263a'));
    }
    for (const x of [-0.3, 0, 0.3]) {
      fillBox(context, x - 0.018, -0.86, 0.036, 0.3, rounded(context, x - 0.018, x + 0.018, hex('#7fb6d9')));
      fillCurve(context, points(x, -1, x + 0.03, -0.92, x, -0.87, x - 0.03, -0.92), hex('#ffc45a'));
    }
  },
  0.75,
);
