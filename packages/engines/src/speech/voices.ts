/**
 * The voices: recordings of four people, as Flite ships them. `kal` is joined from recorded halves of sounds, the
 * others are statistical models of one reader each. All are 16 kHz, so a speech contains nothing above 8 kHz at any
 * rate.
 */

/** One speaker. */
export interface Voice {
  /** Its name in Flite. */
  readonly fliteName: string;
  /** If Flite's own model can change the pitch: its mean and spread in Hz. Otherwise the samples are shifted. */
  readonly tunable?: { readonly meanHertz: number; readonly spreadHertz: number };
  /** Its pitch range, in Hz, for detecting its periods. */
  readonly lowestHertz: number;
  readonly highestHertz: number;
  /**
   * The filters that bring its sound close to that of an average speaker (the long-term spectrum of Byrne and others,
   * 1994): shelves in Hz and decibels, below or above that frequency.
   */
  readonly tone: readonly { readonly shelf: 'low' | 'high'; readonly hertz: number; readonly decibels: number }[];
}

const VOICES = {
  /** A woman, American English. */
  slt: {
    fliteName: 'slt',
    tunable: { meanHertz: 171.9, spreadHertz: 26.8 },
    lowestHertz: 110,
    highestHertz: 300,
    tone: [{ shelf: 'high', hertz: 5500, decibels: -3 }],
  },
  /** A man, American English. */
  rms: {
    fliteName: 'rms',
    lowestHertz: 62,
    highestHertz: 190,
    tone: [{ shelf: 'high', hertz: 2700, decibels: -9 }],
  },
  /** A man, Scottish English. */
  awb: {
    fliteName: 'awb',
    tunable: { meanHertz: 133.1, spreadHertz: 24.7 },
    lowestHertz: 75,
    highestHertz: 220,
    tone: [{ shelf: 'high', hertz: 4500, decibels: 8 }],
  },
  /** A man, American English; drier than the others. */
  kal: {
    fliteName: 'kal16',
    lowestHertz: 62,
    highestHertz: 180,
    tone: [
      { shelf: 'low', hertz: 220, decibels: 3 },
      { shelf: 'high', hertz: 3500, decibels: -3 },
    ],
  },
} as const satisfies Record<string, Voice>;

export type VoiceName = keyof typeof VOICES;

/** In the order in which callers see them. */
export const VOICE_NAMES = Object.keys(VOICES) as readonly VoiceName[];

/** The rate of every voice, in Hz. */
export const VOICE_SAMPLE_RATE = 16_000;

export function isVoiceName(text: string): text is VoiceName {
  return Object.hasOwn(VOICES, text);
}

export function voiceOf(name: VoiceName): Voice {
  return VOICES[name];
}
