/**
 * Riders and what they ride: `an astronaut riding a horse` is one thing that two painters draw. The rider sits behind
 * the animal's flank, with one leg in front of it.
 */
import { hex } from './colour.ts';
import { fillEllipse, strokeLine } from './draw.ts';
import type { Thing } from './lexicon.ts';
import { lit } from './palette.ts';
import type { Mention, PromptReading } from './prompt-reading.ts';
import type { DrawThing } from './stage.ts';
import type { Subject } from './subjects.ts';

const RIDERS: readonly Thing[] = [
  'person',
  'astronaut',
  'robot',
  'cat',
  'dog',
  'fox',
  'bear',
  'panda',
  'penguin',
  'frog',
];

/** The position of the seat, as fractions of its height: above the ground, and ahead of its middle. */
const SEATS: { readonly [Name in Thing]?: readonly [up: number, ahead: number] } = {
  horse: [0.7, 0],
  unicorn: [0.7, 0],
  zebra: [0.7, 0],
  deer: [0.66, 0],
  camel: [0.9, 0],
  elephant: [0.84, 0.1],
  lion: [0.7, 0],
  tiger: [0.7, 0],
  bear: [0.82, 0],
  giraffe: [0.6, 0],
  turtle: [0.95, 0],
  bicycle: [0.86, -0.22],
  motorcycle: [0.68, -0.3],
  dragon: [0.08, 0],
  whale: [0.6, 0],
  dolphin: [0.55, 0],
};

/** The mentions with the rider merged into the mount; unchanged if there is no rider. */
export function withRiders({ mentions, scenery }: PromptReading): readonly Mention[] {
  if (!/\b(riding|rides?|rode|on the back of|on top of)\b/i.test(scenery)) return mentions;
  const rider = mentions.find(({ thing }) => RIDERS.includes(thing));
  const mount = mentions.find((mention) => mention !== rider && SEATS[mention.thing] !== undefined);
  if (rider === undefined || mount === undefined) return mentions;
  // The rider is no longer a thing of its own, and the mount takes the rider's position in the order.
  return mentions.flatMap((mention) => (mention === rider ? { ...mount, rider } : mention === mount ? [] : mention));
}

/** A subject with its rider. */
export function ridden(mount: Subject, mention: Mention, rider: Subject): Subject {
  const [up, ahead] = SEATS[mention.thing] ?? [0.7, 0];
  const by = mention.rider;
  const isWheeled = mention.thing === 'bicycle' || mention.thing === 'motorcycle';
  const draw: DrawThing = (stage, position, size, look) => {
    const tall = isWheeled ? size * 1.3 : Math.min(size * 0.8, (size * rider.height) / mount.height);
    const seat = { x: position.x + look.facing * ahead * size, y: position.y - up * size };
    const own = { ...look, colour: by?.colour, word: by?.word, random: look.random.fork('rider') };
    // Hips are at two fifths of a figure; figures that sit like a cat sit on their foot.
    const hips = by?.thing === 'person' || by?.thing === 'astronaut' || by?.thing === 'robot' ? 0.38 : 0.04;
    rider.draw(stage, { x: seat.x, y: seat.y + tall * hips }, tall, own);
    mount.draw(stage, position, size, look);
    if (hips < 0.1) return;
    const cloth = lit(
      stage.palette,
      hex(by?.thing === 'astronaut' ? '#dedcd8' : by?.thing === 'robot' ? '#7f929e' : '#33333d'),
      look.depth,
    );
    const knee = { x: seat.x + look.facing * tall * 0.1, y: seat.y + tall * 0.16 };
    const foot = { x: seat.x + look.facing * tall * 0.05, y: seat.y + tall * 0.36 };
    strokeLine(stage.context, [{ x: seat.x, y: seat.y - tall * 0.03 }, knee, foot], tall * 0.11, cloth);
    fillEllipse(
      stage.context,
      { x: foot.x + look.facing * tall * 0.04, y: foot.y },
      tall * 0.085,
      tall * 0.045,
      lit(stage.palette, hex('#241d1c'), look.depth),
    );
  };
  return { ...mount, draw, height: mount.height * (isWheeled ? 1 : 1.05) };
}
