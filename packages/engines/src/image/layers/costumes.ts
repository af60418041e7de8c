/**
 * People who are recognised by their clothes: wizards, knights, samurai, dancers, kings and queens, and people in a
 * dress. Seen from some distance, as the wanderer in `people.ts`; in units of their height.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import {
  at,
  downwards,
  fillBox,
  fillCurve,
  fillEllipse,
  fillShape,
  glow,
  outline,
  points,
  strokeLine,
} from '../draw.ts';
import { lit } from '../palette.ts';
import type { Context, Look, Stage } from '../stage.ts';

interface Tones {
  readonly cloth: Colour;
  readonly shade: Colour;
  readonly bright: Colour;
  readonly skin: Colour;
  readonly hair: Colour;
  readonly own: (code: string) => Colour;
}

type Costume = (context: Context, tones: Tones, stage: Stage) => void;

/** A head from the front or side, without a face because of the distance. */
function head(context: Context, { skin, hair }: Tones, form: 'short' | 'long' | 'bun'): void {
  if (form === 'long')
    fillCurve(
      context,
      outline('-0.09,-1 -0.11,-0.86 -0.13,-0.7 0,-0.68 0.13,-0.7 0.11,-0.86 0.09,-1'),
      adjust(hair, -0.05),
    );
  fillBox(context, -0.026, -0.87, 0.052, 0.07, adjust(skin, -0.06));
  fillEllipse(context, { x: 0, y: -0.915 }, 0.062, 0.075, skin);
  fillCurve(context, outline('-0.07,-0.9 -0.075,-0.98 0,-1.01 0.075,-0.98 0.07,-0.9 0.03,-0.955 -0.03,-0.955'), hair);
  if (form === 'bun') fillEllipse(context, { x: 0, y: -1.01 }, 0.034, 0.03, hair);
}

function arms(context: Context, left: string, right: string, width: number, colour: Colour, skin: Colour): void {
  for (const path of [left, right]) {
    const line = outline(path);
    const hand = line.at(-1) ?? { x: 0, y: 0 };
    strokeLine(context, line, width, colour);
    fillEllipse(context, hand, 0.028, 0.03, skin);
  }
}

const wizard: Costume = (context, tones, stage) => {
  const { cloth, shade, bright, skin, own } = tones;
  strokeLine(context, outline('0.3,0 0.29,-0.98'), 0.026, own('#6b4a2e'));
  glow(context, { x: 0.29, y: -1.03 }, 0.34, hex('#8fe0ff'), stage.palette.isDark ? 1 : 0.8);
  fillEllipse(context, { x: 0.29, y: -1.03 }, 0.042, 0.045, hex('#dff8ff'));
  fillCurve(
    context,
    outline('-0.1,-0.82 -0.17,-0.5 -0.26,-0.02 0,0.02 0.26,-0.02 0.17,-0.5 0.1,-0.82'),
    downwards(context, -0.84, 0, css(bright), css(cloth), css(shade)),
  );
  for (const x of [-0.1, 0.02, 0.13]) strokeLine(context, points(x * 0.5, -0.5, x, -0.02), 0.012, shade, 0.7);
  fillBox(context, -0.15, -0.5, 0.3, 0.035, own('#c9a04a'));
  fillCurve(context, outline('-0.12,-0.78 -0.28,-0.56 -0.3,-0.36 -0.16,-0.44 -0.1,-0.6'), shade);
  fillCurve(context, outline('0.1,-0.78 0.24,-0.66 0.34,-0.6 0.32,-0.46 0.18,-0.52'), cloth);
  fillEllipse(context, { x: 0.29, y: -0.55 }, 0.03, 0.03, skin);
  fillEllipse(context, { x: 0, y: -0.87 }, 0.065, 0.075, skin);
  fillCurve(
    context,
    outline('-0.07,-0.88 -0.08,-0.74 -0.02,-0.54 0.03,-0.56 0.08,-0.74 0.07,-0.88 0,-0.82'),
    own('#e9e7e2'),
  );
  fillEllipse(context, { x: 0, y: -0.92 }, 0.17, 0.03, shade);
  fillCurve(context, outline('-0.1,-0.92 -0.06,-1.08 -0.02,-1.2 0.09,-1.26 0.04,-1.12 0.1,-0.92 0,-0.9'), cloth);
  fillBox(context, -0.09, -0.96, 0.18, 0.03, own('#c9a04a'));
};

const armoured =
  (isSamurai: boolean): Costume =>
  (context, tones) => {
    const { cloth, shade, bright, skin, own } = tones;
    const steel = isSamurai ? cloth : own('#aeb6bf');
    const dark = isSamurai ? own('#26242a') : adjust(steel, -0.18);
    strokeLine(context, outline(isSamurai ? '0.2,-0.36 0.52,-0.86' : '0.24,-0.02 0.24,-0.74'), 0.02, own('#dfe5ea'));
    if (!isSamurai) strokeLine(context, outline('0.17,-0.56 0.31,-0.56'), 0.022, own('#c9a04a'));
    for (const x of [-0.075, 0.075]) {
      strokeLine(context, points(x, -0.42, x * 1.15, -0.03), 0.1, dark);
      strokeLine(context, points(x * 1.1, -0.22, x * 1.15, -0.04), 0.085, steel);
      fillEllipse(context, { x: x * 1.15, y: -0.02 }, 0.065, 0.026, dark);
    }
    for (let row = 0; row < 3; row++)
      fillShape(
        context,
        points(
          -0.14 - row * 0.02,
          -0.46 + row * 0.065,
          0.14 + row * 0.02,
          -0.46 + row * 0.065,
          0.16 + row * 0.02,
          -0.38 + row * 0.065,
          -0.16 - row * 0.02,
          -0.38 + row * 0.065,
        ),
        row % 2 === 0 ? steel : shade,
      );
    arms(context, '-0.15,-0.74 -0.22,-0.58 -0.16,-0.44', '0.15,-0.74 0.22,-0.58 0.2,-0.4', 0.07, dark, skin);
    fillCurve(
      context,
      outline('-0.13,-0.8 -0.16,-0.6 -0.13,-0.44 0.13,-0.44 0.16,-0.6 0.13,-0.8 0,-0.82'),
      downwards(
        context,
        -0.82,
        -0.42,
        css(isSamurai ? bright : mix(steel, hex('#ffffff'), 0.35)),
        css(steel),
        css(adjust(steel, -0.12)),
      ),
    );
    for (const y of [-0.7, -0.62, -0.54]) strokeLine(context, points(-0.13, y, 0.13, y), 0.009, dark, 0.55);
    for (const side of [-1, 1])
      fillShape(
        context,
        points(side * 0.1, -0.82, side * 0.25, -0.76, side * 0.24, -0.6, side * 0.13, -0.66),
        isSamurai ? shade : adjust(steel, -0.06),
      );
    fillEllipse(context, { x: 0, y: -0.9 }, 0.065, 0.075, isSamurai ? skin : dark);
    if (isSamurai) {
      fillCurve(
        context,
        outline('-0.16,-0.86 -0.13,-0.96 -0.06,-1.03 0.06,-1.03 0.13,-0.96 0.16,-0.86 0.08,-0.92 -0.08,-0.92'),
        dark,
      );
      fillShape(
        context,
        outline('-0.12,-1.12 -0.03,-0.98 0.03,-0.98 0.12,-1.12 0.02,-1.03 -0.02,-1.03'),
        own('#e0b23c'),
      );
    } else {
      fillCurve(context, outline('-0.085,-0.82 -0.09,-0.96 0,-1.04 0.09,-0.96 0.085,-0.82 0,-0.79'), steel);
      fillBox(context, -0.065, -0.925, 0.13, 0.022, own('#1c1d22'));
      fillCurve(context, outline('0,-1.02 -0.06,-1.14 -0.18,-1.1 -0.22,-0.98 -0.1,-1.02'), cloth);
    }
  };

const dancer: Costume = (context, tones) => {
  const { cloth, shade, bright, skin } = tones;
  strokeLine(context, outline('0.02,-0.46 0.015,-0.2 0.02,-0.01'), 0.05, skin);
  strokeLine(context, outline('-0.02,-0.46 -0.24,-0.34 -0.06,-0.22'), 0.05, adjust(skin, -0.04));
  fillShape(context, outline('0,-0.08 0.045,-0.08 0.03,0.01 0.012,0.01'), shade);
  fillShape(context, outline('-0.1,-0.25 -0.05,-0.2 0.01,-0.2 -0.06,-0.26'), shade);
  for (const [reach, y, tone] of [
    [0.36, -0.44, shade],
    [0.33, -0.46, cloth],
    [0.28, -0.485, bright],
  ] as const)
    fillCurve(
      context,
      points(
        -0.06,
        -0.54,
        -reach,
        y - 0.02,
        -reach * 0.9,
        y + 0.06,
        0,
        y + 0.035,
        reach * 0.9,
        y + 0.06,
        reach,
        y - 0.02,
        0.06,
        -0.54,
      ),
      css(tone, 0.88),
    );
  fillCurve(context, outline('-0.075,-0.78 -0.06,-0.62 -0.07,-0.5 0.07,-0.5 0.06,-0.62 0.075,-0.78 0,-0.74'), cloth);
  arms(context, '-0.08,-0.76 -0.26,-0.92 -0.14,-1.1', '0.08,-0.76 0.26,-0.92 0.14,-1.1', 0.035, skin, skin);
  head(context, tones, 'bun');
};

const gown: Costume = (context, tones, stage) => {
  const { cloth, shade, bright, skin } = tones;
  const swing = stage.weather.has('wind') ? 0.08 : 0;
  for (const x of [-0.04, 0.05]) strokeLine(context, points(x, -0.2, x, -0.02), 0.045, skin);
  fillCurve(
    context,
    points(
      -0.09,
      -0.8,
      -0.08,
      -0.56,
      -0.24 - swing,
      -0.14,
      0,
      -0.1,
      0.22 - swing,
      -0.14,
      0.08,
      -0.56,
      0.09,
      -0.8,
      0,
      -0.76,
    ),
    downwards(context, -0.8, -0.1, css(bright), css(cloth), css(shade)),
  );
  for (const x of [-0.12, 0, 0.1])
    strokeLine(context, points(x * 0.4, -0.52, x - swing * 0.6, -0.15), 0.01, shade, 0.6);
  arms(context, '-0.09,-0.77 -0.15,-0.6 -0.13,-0.44', '0.09,-0.77 0.15,-0.6 0.14,-0.44', 0.042, skin, skin);
  head(context, tones, 'long');
};

const royal: Costume = (context, tones) => {
  const { cloth, shade, bright, skin, own } = tones;
  fillCurve(
    context,
    outline('-0.12,-0.8 -0.24,-0.4 -0.34,0 0.34,0 0.24,-0.4 0.12,-0.8'),
    downwards(context, -0.8, 0, css(bright), css(cloth), css(shade)),
  );
  fillShape(context, outline('-0.05,-0.76 0.05,-0.76 0.12,0 -0.12,0'), own('#e9e2d2'));
  for (let spot = 0; spot < 7; spot++)
    fillEllipse(context, { x: ((spot * 3) % 5) * 0.03 - 0.06, y: -0.64 + spot * 0.09 }, 0.009, 0.016, own('#26242a'));
  strokeLine(context, outline('-0.05,-0.78 -0.11,-0.02'), 0.03, own('#d9ae45'));
  strokeLine(context, outline('0.05,-0.78 0.11,-0.02'), 0.03, own('#d9ae45'));
  arms(context, '-0.13,-0.74 -0.22,-0.58 -0.14,-0.46', '0.13,-0.74 0.22,-0.58 0.24,-0.46', 0.07, cloth, skin);
  strokeLine(context, outline('0.25,-0.16 0.24,-0.78'), 0.018, own('#d9ae45'));
  fillEllipse(context, { x: 0.24, y: -0.8 }, 0.035, 0.035, own('#e8c45a'));
  head(context, tones, 'long');
  fillShape(
    context,
    outline('-0.075,-0.97 -0.09,-1.08 -0.04,-1.02 0,-1.1 0.04,-1.02 0.09,-1.08 0.075,-0.97'),
    own('#e6b93c'),
  );
};

const COSTUMES: Readonly<Record<string, readonly [Costume, cloth: string]>> = {
  wizard: [wizard, '#3f3f8c'],
  witch: [wizard, '#2f2a3a'],
  sorcerer: [wizard, '#5a2f6b'],
  monk: [wizard, '#8a5a2f'],
  knight: [armoured(false), '#b3262b'],
  samurai: [armoured(true), '#9c2b2b'],
  warrior: [armoured(true), '#4a5a4f'],
  ballerina: [dancer, '#f0a8c0'],
  dancer: [dancer, '#c8344f'],
  queen: [royal, '#6b2458'],
  king: [royal, '#7a2438'],
  princess: [gown, '#e58fb4'],
  bride: [gown, '#f6f2ea'],
  fairy: [gown, '#9fd08c'],
  woman: [gown, '#b8403a'],
  girl: [gown, '#e0b03c'],
  lady: [gown, '#3f6f8c'],
};

/** Draws a person in the costume of a word; false if the word has none. */
export function drawCostumed(stage: Stage, foot: { x: number; y: number }, size: number, look: Look): boolean {
  const found = look.word !== undefined && Object.hasOwn(COSTUMES, look.word) ? COSTUMES[look.word] : undefined;
  if (found === undefined) return false;
  const [costume, code] = found;
  const { context, palette } = stage;
  const own = (colour: string): Colour => lit(palette, hex(colour), look.depth);
  const cloth = lit(palette, look.colour ?? hex(code), look.depth);
  const tones: Tones = {
    cloth,
    shade: adjust(cloth, -0.1),
    bright: mix(cloth, palette.rim, 0.28),
    skin: own(look.random.pick(['#e9bd98', '#c98d63', '#8a5a3e'])),
    hair: own(look.random.pick(['#2d221d', '#6b4226', '#b98a4a', '#8a3a22'])),
    own,
  };
  at(context, foot, size, look.facing, () => {
    fillEllipse(context, { x: 0, y: 0 }, 0.26, 0.025, css(palette.land, 0.35));
    costume(context, tones, stage);
  });
  return true;
}

/** Whether a word names a person who is recognised by a costume. */
export function isCostumed(word: string | undefined): boolean {
  return word !== undefined && Object.hasOwn(COSTUMES, word);
}
