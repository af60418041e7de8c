/**
 * Furniture. Each piece stands on its foot and its size is its height; light comes from the window on the left.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { at, fillBox, fillCurve, fillEllipse, fillShape, glow, outline, strokeLine } from '../draw.ts';
import type { Context, DrawThing } from '../stage.ts';
import { drawContact, rounded } from './volumes.ts';

function piece(
  code: string,
  half: number,
  draw: (context: Context, colour: Colour, look: Parameters<DrawThing>[3]) => void,
): DrawThing {
  return (stage, foot, size, look) => {
    at(stage.context, foot, size, 1, () => {
      drawContact(stage.context, { x: 0, y: 0 }, half);
      draw(stage.context, look.colour ?? hex(code), look);
    });
  };
}

function cushion(context: Context, x: number, y: number, width: number, height: number, colour: Colour): void {
  context.beginPath();
  context.roundRect(x, y, width, height, Math.min(width, height) * 0.28);
  context.fillStyle = rounded(context, x, x + width, colour);
  context.fill();
  context.beginPath();
  context.roundRect(x + width * 0.05, y + height * 0.06, width * 0.9, height * 0.2, height * 0.1);
  context.fillStyle = css(mix(colour, hex('#fff4e0'), 0.4), 0.35);
  context.fill();
}

export const drawSofa: DrawThing = piece('#4f7280', 1.25, (context, colour) => {
  for (const x of [-1.1, 1.02]) fillBox(context, x, -0.12, 0.08, 0.12, hex('#4a3022'));
  cushion(context, -1.12, -0.98, 2.24, 0.72, adjust(colour, -0.05));
  for (const x of [-1.02, 0.02]) cushion(context, x, -0.94, 1, 0.56, colour);
  fillBox(context, -1.1, -0.3, 2.2, 0.2, rounded(context, -1.1, 1.1, adjust(colour, -0.1)));
  for (const x of [-1, 0.01]) cushion(context, x, -0.46, 0.99, 0.24, adjust(colour, 0.04));
  for (const x of [-1.26, 1.02]) cushion(context, x, -0.66, 0.24, 0.58, adjust(colour, -0.02));
  cushion(context, -0.92, -0.82, 0.42, 0.38, hex('#e0a24a'));
  cushion(context, 0.54, -0.8, 0.4, 0.36, hex('#d9cbb2'));
});

export const drawArmchair: DrawThing = piece('#b5673f', 0.62, (context, colour) => {
  for (const x of [-0.46, 0.38]) fillBox(context, x, -0.14, 0.08, 0.14, hex('#4a3022'));
  cushion(context, -0.5, -1, 1, 0.86, adjust(colour, -0.03));
  cushion(context, -0.4, -0.48, 0.8, 0.22, adjust(colour, 0.06));
  fillBox(context, -0.44, -0.28, 0.88, 0.16, rounded(context, -0.44, 0.44, adjust(colour, -0.1)));
  for (const x of [-0.62, 0.42]) cushion(context, x, -0.64, 0.2, 0.52, colour);
});

export const drawBed: DrawThing = piece('#8fa5b5', 1.5, (context, colour) => {
  const wood = hex('#7a5233');
  fillBox(context, -1.52, -1, 0.1, 1, rounded(context, -1.52, -1.42, wood));
  cushion(context, -1.5, -0.98, 0.2, 0.7, adjust(wood, 0.03));
  fillBox(context, -1.46, -0.34, 2.9, 0.26, rounded(context, -1.46, 1.44, adjust(wood, -0.04)));
  cushion(context, -1.4, -0.54, 2.84, 0.3, hex('#f3efe6'));
  cushion(context, -1.36, -0.72, 0.52, 0.26, hex('#fbf8f2'));
  fillCurve(
    context,
    outline('-0.8,-0.6 -0.2,-0.64 0.6,-0.6 1.42,-0.6 1.5,-0.3 1.46,-0.12 0.4,-0.1 -0.76,-0.14 -0.86,-0.4'),
    rounded(context, -0.86, 1.5, colour),
  );
  fillBox(context, -0.84, -0.62, 0.2, 0.44, css(mix(colour, hex('#ffffff'), 0.6), 0.9));
  fillBox(context, 1.42, -0.6, 0.1, 0.6, rounded(context, 1.42, 1.52, wood));
});

export const drawBookshelf: DrawThing = piece('#6f4a2e', 0.42, (context, colour, look) => {
  fillBox(context, -0.36, -1, 0.72, 1, rounded(context, -0.36, 0.36, colour));
  const covers = ['#a83f36', '#35566b', '#4d6b4a', '#c9983f', '#6b3f5c', '#d8cbb0', '#2f3f4f', '#8a5a3c'].map(hex);
  for (let shelf = 0; shelf < 5; shelf++) {
    const bottom = -0.05 - shelf * 0.19;
    fillBox(context, -0.33, bottom - 0.165, 0.66, 0.165, adjust(colour, -0.17));
    for (let x = -0.32; x < 0.29;) {
      const wide = look.random.between(0.018, 0.042);
      const tall = look.random.between(0.105, 0.152);
      if (look.random.chance(0.9)) {
        const cover = covers[look.random.integer(0, covers.length - 1)] ?? colour;
        fillBox(context, x, bottom - tall, wide, tall, rounded(context, x, x + wide, cover));
        fillBox(context, x, bottom - tall * 0.8, wide, 0.008, css(hex('#e8cf8a'), 0.8));
      }
      x += wide + 0.003;
    }
    fillBox(context, -0.35, bottom, 0.7, 0.022, adjust(colour, 0.05));
  }
});

export const drawFireplace: DrawThing = piece('#a8968a', 0.9, (context, colour, look) => {
  fillBox(context, -0.78, -1, 1.56, 1, adjust(colour, -0.02));
  for (let row = 0; row < 9; row++) {
    for (let column = -1; column < 7; column++) {
      const [x, y] = [-0.78 + column * 0.24 + (row % 2) * 0.12, -0.96 + row * 0.108];
      const left = Math.max(-0.78, x + 0.008);
      const right = Math.min(0.78, x + 0.232);
      if (right > left)
        fillBox(context, left, y, right - left, 0.096, adjust(colour, look.random.between(-0.07, 0.05)));
    }
  }
  fillBox(context, -0.9, -1.06, 1.8, 0.1, rounded(context, -0.9, 0.9, hex('#7a5233')));
  fillCurve(
    context,
    outline('-0.46,0.06 -0.46,-0.4 -0.4,-0.62 -0.2,-0.7 0.2,-0.7 0.4,-0.62 0.46,-0.4 0.46,0.06'),
    hex('#1d120e'),
  );
  fillBox(context, -0.46, -0.03, 0.92, 0.05, hex('#2b1b14'));
  for (const [x, lean] of [
    [-0.16, 0.1],
    [0.16, -0.1],
  ] as const)
    strokeLine(
      context,
      [
        { x: x - 0.16, y: -0.07 - lean * 0.3 },
        { x: x + 0.16, y: -0.09 + lean * 0.3 },
      ],
      0.075,
      hex('#5a3822'),
    );
  context.save();
  context.globalCompositeOperation = 'screen';
  glow(context, { x: 0, y: -0.2 }, 1.7, hex('#ff8a2c'), 0.55);
  context.restore();
  for (const [shift, tall, tone] of [
    [-0.2, 0.3, '#e8581c'],
    [0.18, 0.34, '#e8581c'],
    [0, 0.48, '#f07a1e'],
    [-0.09, 0.32, '#ffb22e'],
    [0.08, 0.3, '#ffb22e'],
    [0, 0.2, '#fff0b0'],
  ] as const)
    fillCurve(
      context,
      [
        { x: shift, y: -0.08 - tall },
        { x: shift + 0.1, y: -0.08 - tall * 0.45 },
        { x: shift + 0.09, y: -0.06 },
        { x: shift - 0.09, y: -0.06 },
        { x: shift - 0.1, y: -0.08 - tall * 0.4 },
      ],
      hex(tone),
    );
});

export const drawPiano: DrawThing = piece('#241d1f', 0.95, (context, colour) => {
  fillBox(context, -0.8, -1, 1.6, 1, rounded(context, -0.8, 0.8, colour));
  fillBox(context, -0.84, -1.04, 1.68, 0.07, mix(colour, hex('#ffffff'), 0.14));
  fillBox(context, -0.7, -0.92, 1.4, 0.3, css(mix(colour, hex('#ffffff'), 0.06)));
  fillShape(context, outline('-0.86,-0.52 0.86,-0.52 0.92,-0.42 -0.92,-0.42'), hex('#f3efe4'));
  for (let key = 0; key < 26; key++) {
    const x = -0.86 + key * 0.066;
    fillBox(context, x, -0.52, 0.004, 0.1, hex('#9a948a'));
    if (![2, 6].includes(key % 7)) fillBox(context, x + 0.045, -0.52, 0.03, 0.06, hex('#171314'));
  }
  fillBox(context, -0.92, -0.42, 1.84, 0.06, mix(colour, hex('#ffffff'), 0.1));
  for (const x of [-0.88, 0.8]) fillBox(context, x, -0.4, 0.08, 0.4, colour);
});

export const drawLamp: DrawThing = piece('#e9c98a', 0.2, (context, colour) => {
  fillEllipse(context, { x: 0, y: -0.01 }, 0.13, 0.022, hex('#4a3a2c'));
  fillBox(context, -0.009, -0.8, 0.018, 0.8, hex('#5a4634'));
  context.save();
  context.globalCompositeOperation = 'screen';
  glow(context, { x: 0, y: -0.84 }, 0.85, hex('#ffc878'), 0.6);
  context.restore();
  fillShape(
    context,
    outline('-0.09,-1 0.09,-1 0.17,-0.76 -0.17,-0.76'),
    rounded(context, -0.17, 0.17, mix(colour, hex('#fff0c8'), 0.55)),
  );
  fillEllipse(context, { x: 0, y: -0.76 }, 0.17, 0.018, hex('#fff3d0'));
});

export const drawCounter: DrawThing = piece('#5f7d7a', 0.9, (context, colour, look) => {
  fillBox(context, -0.9, -0.5, 1.8, 0.5, adjust(colour, -0.04));
  for (let door = 0; door < 4; door++) {
    const x = -0.88 + door * 0.44;
    fillBox(context, x + 0.012, -0.46, 0.41, 0.42, rounded(context, x, x + 0.44, colour));
    fillBox(context, x + 0.05, -0.42, 0.335, 0.34, css(adjust(colour, 0.05), 0.8));
    fillBox(context, x + (door % 2 === 0 ? 0.36 : 0.05), -0.28, 0.02, 0.08, hex('#d8b36a'));
  }
  fillBox(context, -0.94, -0.54, 1.88, 0.055, rounded(context, -0.94, 0.94, hex('#e3d6bf')));
  fillBox(context, -0.78, -0.99, 1.56, 0.03, hex('#8a5f3e'));
  const wares = ['#c94f3d', '#e6dfd0', '#3f7f8a', '#e0a53a', '#7a8a5a', '#f2efe6'].map(hex);
  for (let ware = 0; ware < 9; ware++) {
    const x = -0.72 + ware * 0.17;
    const tall = look.random.between(0.07, 0.16);
    const wide = look.random.between(0.07, 0.11);
    fillBox(context, x, -0.99 - tall, wide, tall, rounded(context, x, x + wide, wares[ware % wares.length] ?? colour));
  }
  fillBox(context, 0.3, -0.66, 0.3, 0.12, rounded(context, 0.3, 0.6, hex('#8d949b')));
  fillBox(context, 0.28, -0.69, 0.34, 0.035, hex('#b5bcc2'));
  strokeLine(context, outline('-0.5,-0.55 -0.5,-0.74 -0.44,-0.8 -0.38,-0.76 -0.38,-0.7'), 0.022, hex('#b5bcc2'));
});
