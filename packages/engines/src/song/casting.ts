/**
 * Chooses the players: the genre's band, with the instruments that the prompt names in the parts that they fit, and
 * without those that it excludes.
 */
import type { Random } from '@darkroom/seeded-random/random';
import type { Genre, Part } from './genre.ts';
import { instrumentNamed } from './instruments.ts';
import type { Family, Instrument } from './instruments.ts';
import type { SongBrief } from './prompt-reading.ts';

/** An accompanist: the part that the genre defines, and its instrument. */
export interface Player extends Part {
  readonly instrument: Instrument;
}

export interface Cast {
  readonly players: readonly Player[];
  /** The instruments that carry the tune: in verses, and in choruses. */
  readonly leads: readonly [verse: Instrument, chorus: Instrument];
  /** Program of the drum kit; undefined without drums. */
  readonly kit: number | undefined;
  /** Name of the groove. */
  readonly groove: string;
}

/** Families that carry a tune rather than chords. */
const SINGERS: ReadonlySet<Family> = new Set(['bowed', 'blown', 'voice', 'bells', 'synth']);
/** What a family plays when it joins a band without a part for it. */
const JOINING: Readonly<Record<Family, readonly [role: Part['role'], pattern: string, db: number]>> = {
  keys: ['comp', 'push', -6],
  plucked: ['arp', 'pick', -7],
  bowed: ['pad', 'hold', -6],
  blown: ['counter', 'line', -6],
  voice: ['pad', 'hold', -6],
  synth: ['arp', 'arpeggio', -10],
  bass: ['bass', 'whole', -1],
  bells: ['arp', 'arpeggio', -9],
  pad: ['pad', 'hold', -8],
};
/** How an instrument accompanies itself. */
const ALONE: Readonly<Partial<Record<Family, readonly (readonly [role: Part['role'], pattern: string])[]>>> = {
  keys: [
    ['arp', 'rolling'],
    ['bass', 'whole'],
  ],
  plucked: [
    ['arp', 'pick'],
    ['bass', 'whole'],
  ],
  bells: [['arp', 'arpeggio']],
  synth: [
    ['arp', 'arpeggio'],
    ['pad', 'hold'],
  ],
  pad: [
    ['pad', 'hold'],
    ['pad', 'swells'],
  ],
  bass: [['bass', 'walk']],
};

function fits(instrument: Instrument, part: Part): boolean {
  if (part.role === 'bass' || instrument.family === 'bass') return part.role === 'bass' && instrument.family === 'bass';
  const canChords = instrument.family !== 'blown' || instrument.name === 'brass' || instrument.name === 'horns';
  const families = part.instruments.map((name) => instrumentNamed(name).family);
  if (part.role === 'pad') return instrument.isSustained && canChords;
  if (part.role === 'counter') return instrument.isSustained;
  return canChords && !instrument.isSustained
    ? families.some((family) => family === instrument.family) || part.role === 'arp'
    : families.includes(instrument.family) && canChords;
}

/** A centre in the natural range of the instrument. */
function within(instrument: Instrument, centre: number): number {
  const [low, high] = instrument.range;
  return Math.min(Math.max(centre, low + 7), Math.max(low + 7, high - 9));
}

function hired(part: Part, instrument: Instrument): Player {
  return { ...part, instrument, centre: part.role === 'bass' ? part.centre : within(instrument, part.centre) };
}

/** One instrument, or a few, and no other players. */
function soloists(brief: SongBrief): Player[] {
  return brief.instruments.flatMap((name, index) => {
    const instrument = instrumentNamed(name);
    return (ALONE[instrument.family] ?? []).map(([role, pattern]) =>
      hired(
        {
          role,
          instruments: [name],
          pattern,
          from: role === 'bass' ? 2 : index * 0.5,
          centre: role === 'bass' ? Math.max(36, instrument.range[0]) : 55,
          voices: 4,
          db: -6,
          pan: index === 0 ? -0.1 : 0.3,
        },
        instrument,
      ),
    );
  });
}

/** Casts a band. The instruments that the prompt names play; the rest is random. */
export function castBand(brief: SongBrief, genre: Genre, random: Random): Cast {
  const isWanted = (name: string): boolean => !brief.excluded.has(name);
  const named = brief.instruments.map(instrumentNamed);
  let players: Player[] = [];
  const unplaced = new Set(named);
  if (brief.isSolo) {
    players = soloists(brief);
  } else {
    for (const part of genre.parts) {
      const options = part.instruments.filter(isWanted);
      const wanted = named.find((one) => unplaced.has(one) && fits(one, part));
      const listed = named.find((one) => options.includes(one.name));
      const chosen = wanted ?? listed;
      if (wanted !== undefined) unplaced.delete(wanted);
      if (chosen !== undefined) {
        // The prompt names it, so it is heard from the beginning and clearly.
        players.push({
          ...hired(part, chosen),
          from: Math.min(part.from, 1.2),
          db: Math.max(part.db, part.role === 'bass' ? -1 : -6),
        });
      } else if (options.length > 0) {
        players.push(hired(part, instrumentNamed(options[random.integer(0, options.length - 1)] ?? '')));
      }
    }
  }
  const options = genre.leads.filter(isWanted).map(instrumentNamed);
  const singers = named.filter((one) => SINGERS.has(one.family) || (one.family === 'voice' && unplaced.has(one)));
  const others = named.filter((one) => one.family !== 'bass' && one.family !== 'pad');
  const stars =
    singers.length > 0 ? singers : others.length > 0 && (brief.isSolo || others.length === named.length) ? others : [];
  const fallback = options[random.integer(0, Math.max(0, options.length - 1))] ?? instrumentNamed('piano');
  const first = stars[0] ?? fallback;
  const second =
    stars[1] ??
    (stars.length > 0 || random.chance(0.45) ? first : (options[random.integer(0, options.length - 1)] ?? first));
  for (const star of [first, second]) unplaced.delete(star);
  if (!brief.isSolo) {
    for (const one of unplaced) {
      const [role, pattern, db] = JOINING[one.family];
      if (role === 'bass' && players.some((player) => player.role === 'bass')) continue;
      players.push(
        hired(
          {
            role,
            instruments: [one.name],
            pattern,
            from: 1,
            centre: role === 'bass' ? 36 : 62,
            voices: 3,
            db,
            pan: 0.35,
          },
          one,
        ),
      );
    }
  }
  // At least one player plays chords from the first bar on.
  const chords = players.filter(({ role }) => role !== 'bass' && role !== 'counter');
  const earliest = Math.min(...chords.map(({ from }) => from));
  players = players.map((player) =>
    player === chords.find(({ from }) => from === earliest) ? { ...player, from: 0 } : player,
  );
  const drums = brief.drums ?? (brief.isSolo ? false : genre.groove !== 'none');
  const groove = drums && genre.groove === 'none' ? 'ballad' : genre.groove;
  const kits = genre.kits.length > 0 ? genre.kits : [0];
  return {
    players,
    leads: [first, second],
    kit: drums ? kits[random.integer(0, kits.length - 1)] : undefined,
    groove: drums ? groove : 'none',
  };
}
