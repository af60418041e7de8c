/** All things that make a sound and all scenes that they form, by their names. */
import { stems } from './prompt-words.ts';
import type { SoundLexicon } from './prompt-reading.ts';
import { SCENES } from './scenes.ts';
import { ALARMS } from './things/alarms.ts';
import { BEASTS } from './things/beasts.ts';
import { BELLS } from './things/bells.ts';
import { BIRDS } from './things/birds.ts';
import { BLOWS } from './things/blows.ts';
import { BREAKAGE } from './things/breakage.ts';
import { CHIMES } from './things/chimes.ts';
import { CINEMA } from './things/cinema.ts';
import { CROWDS } from './things/crowds.ts';
import { DESK } from './things/desk.ts';
import { DRUMS } from './things/drums.ts';
import { ENGINES_ON_WHEELS } from './things/engines.ts';
import { INSECTS } from './things/insects.ts';
import { MACHINES } from './things/machines.ts';
import { PEOPLE } from './things/people.ts';
import { SCIENCE_FICTION } from './things/science-fiction.ts';
import { SIGNALS } from './things/signals.ts';
import { STEPS } from './things/steps.ts';
import { VEHICLES } from './things/vehicles.ts';
import { WATER } from './things/water.ts';
import { WEATHER } from './things/weather.ts';
import type { Thing } from './thing.ts';

/** Every thing that an engine can make. */
export const ALL_THINGS: readonly Thing[] = [
  ...ALARMS,
  ...BEASTS,
  ...BELLS,
  ...BIRDS,
  ...BLOWS,
  ...BREAKAGE,
  ...CHIMES,
  ...CINEMA,
  ...CROWDS,
  ...DESK,
  ...DRUMS,
  ...ENGINES_ON_WHEELS,
  ...INSECTS,
  ...MACHINES,
  ...PEOPLE,
  ...SCIENCE_FICTION,
  ...SIGNALS,
  ...STEPS,
  ...VEHICLES,
  ...WATER,
  ...WEATHER,
];

const THINGS = new Map(ALL_THINGS.flatMap((thing) => thing.names.map((name) => [stems(name), thing] as const)));

function findThing(name: string): Thing {
  const thing = THINGS.get(stems(name));
  if (thing === undefined) throw new Error(`a scene names ${JSON.stringify(name)}, which is no thing`);
  return thing;
}

export const LEXICON: SoundLexicon = {
  things: THINGS,
  scenes: new Map(
    SCENES.flatMap(({ names, parts, room }) => {
      const scene = { parts: parts.map(([name, change]) => ({ thing: findThing(name), change })), room };
      return names.map((name) => [stems(name), scene] as const);
    }),
  ),
};
