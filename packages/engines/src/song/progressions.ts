/**
 * Chord progressions by family, in roman numerals over the major scale of the tonic (`theory.ts`). A progression is a
 * row of bars; `:` splits a bar. Each family has alternatives for verse, chorus and bridge, bright and dark.
 */
import type { ModeName } from './theory.ts';

export interface ProgressionSet {
  readonly verse: readonly string[];
  readonly chorus: readonly string[];
  readonly bridge: readonly string[];
}

export interface ProgressionFamily {
  readonly bright: ProgressionSet;
  readonly dark: ProgressionSet;
}

/** Modes with a sound of their own; they replace a family's rows. */
export const MODAL: Readonly<Partial<Record<ModeName, ProgressionSet>>> = {
  dorian: {
    verse: ['i i IV IV', 'i IV i IV', 'i bVII IV i'],
    chorus: ['i IV bVII i', 'bIII IV i i', 'i bVII IV IV'],
    bridge: ['bVII bVII IV v', 'bIII bVII IV i', 'v IV v IV'],
  },
  mixolydian: {
    verse: ['I bVII I bVII', 'I I bVII IV', 'I v IV I'],
    chorus: ['I bVII IV I', 'bVII IV I I', 'I IV bVII IV'],
    bridge: ['IV bVII IV I', 'v bVII IV I', 'bVII bVII IV IV'],
  },
  phrygian: {
    verse: ['i i bII i', 'i bII i bvii', 'i i bVI bII'],
    chorus: ['i bII bIII bII', 'i bVI bII i', 'bVI bVII i bII'],
    bridge: ['bVI bVI bII bII', 'iv bIII bII i', 'bvii bVI bII i'],
  },
  lydian: {
    verse: ['I II I II', 'Imaj7 Imaj7 II II', 'I iii II II'],
    chorus: ['I II vi V', 'Imaj7 II iii II', 'I V II II'],
    bridge: ['vi II vi II', 'iii vi II II', 'V II vi II'],
  },
  freygish: {
    verse: ['I bII I I', 'I I bvii I', 'I bII bvii I'],
    chorus: ['I bII bIII bII', 'iv bIII bII I', 'I iv bII I'],
    bridge: ['iv iv bII I', 'bvii iv bII I', 'bII bII I I'],
  },
};

export const PROGRESSIONS = {
  pop: {
    bright: {
      verse: ['I V vi IV', 'I vi IV V', 'vi IV I V', 'I iii IV V', 'I IV vi V'],
      chorus: ['IV I V vi', 'I V vi IV', 'IV V vi I', 'I V IV IV', 'vi IV I V'],
      bridge: ['vi iii IV V', 'ii vi IV V', 'IV iv I V', 'iii vi ii V'],
    },
    dark: {
      verse: ['i bVI bIII bVII', 'i iv bVI bVII', 'i bVII bVI bVII', 'i bIII bVII iv'],
      chorus: ['bVI bVII i bIII', 'i bVI bIII bVII', 'bVI bIII bVII i', 'iv bVI i bVII'],
      bridge: ['iv i bVI V', 'bVI bVII v i', 'iv bVII bIII V', 'bVI iv i V'],
    },
  },
  rock: {
    bright: {
      verse: ['I I IV I', 'I bVII IV I', 'I IV I V', 'I V IV IV', 'I bIII IV I'],
      chorus: ['I IV V IV', 'I V vi IV', 'IV I V V', 'bVI bVII I I', 'I IV bVII IV'],
      bridge: ['vi V IV V', 'bVII IV I I', 'ii IV V V', 'bVI bVII bVI V'],
    },
    dark: {
      verse: ['i i bVII i', 'i bVI bVII i', 'i bIII bVII iv', 'i i bVI bVII'],
      chorus: ['i bVII bVI bVII', 'bVI bVII i i', 'i bIII bVI bVII', 'i bVI bIII bVII'],
      bridge: ['bVI bVI bVII V', 'iv bVI bVII bVII', 'bII bII i V'],
    },
  },
  metal: {
    bright: {
      verse: ['I bVII I bVI', 'I I bIII IV'],
      chorus: ['I bVII bVI bVII', 'I V bVI bVII'],
      bridge: ['bVI bVII I V', 'iv bVI bVII V'],
    },
    dark: {
      verse: ['i i i bII', 'i i bVI v', 'i bII i bVII', 'i i bIII bII'],
      chorus: ['i bVI bVII i', 'bVI bVII i v', 'i bIII bVII bVI', 'i bVII bVI V'],
      bridge: ['i i bII bII', 'bVI bII i V', 'iv iv bVI V'],
    },
  },
  jazz: {
    bright: {
      verse: ['Imaj7 vi7 ii7 V7', 'iii7 VI7 ii7 V7', 'Imaj7 IVmaj7 iii7:VI7 ii7:V7', 'ii7 V7 Imaj7 VI7b9'],
      chorus: ['ii7 V7 Imaj7 VI7b9', 'IVmaj7 iv7:bVII7 Imaj7 VI7', 'Imaj7 #io7 ii7 V7', 'ii9 V13 Imaj9 Imaj9'],
      bridge: ['III7 III7 VI7 VI7 II7 II7 V7 V7', 'iv7 bVII7 bIIImaj7 VI7b9', 'v7 I7 IVmaj7 iv7:bVII7'],
    },
    dark: {
      verse: ['i7 iv7 iih7 V7b9', 'i6 i6 iih7 V7b9', 'i7 bVImaj7 iih7 V7b9', 'i7 IV9 i7 IV9'],
      chorus: ['iv7 bVII9 bIIImaj7 bVImaj7 iih7 V7b9 i7 i7', 'i7 bVI7 V7b9 i7', 'iv7 V7b9 i7 i7'],
      bridge: ['iv7 bVII7 bIIImaj7 bVImaj7', 'bVImaj7 bVI6 iih7 V7b9', 'v7 i7 iv7 V7b9'],
    },
  },
  blues: {
    bright: {
      verse: ['I7 IV7 I7 I7 IV7 IV7 I7 I7 V7 IV7 I7 V7', 'I7 I7 I7 I7 IV7 IV7 I7 VI7 ii7 V7 I7 V7'],
      chorus: ['I7 IV7 I7 I7 IV7 #ivo7 I7 VI7 ii7 V7 I7 V7'],
      bridge: ['IV7 IV7 I7 I7 IV7 IV7 I7 I7 II7 II7 V7 V7'],
    },
    dark: {
      verse: ['i7 i7 i7 i7 iv7 iv7 i7 i7 bVI7 V7 i7 V7', 'i7 iv7 i7 i7 iv7 iv7 i7 i7 v7 iv7 i7 V7'],
      chorus: ['i7 i7 i7 i7 iv7 iv7 i7 i7 bVI7 V7 i7 V7'],
      bridge: ['iv7 iv7 i7 i7 iv7 iv7 V7 V7 bVI7 V7 i7 V7'],
    },
  },
  folk: {
    bright: {
      verse: ['I IV I V', 'I V vi IV', 'I IV vi V', 'I iii IV I', 'I I IV I'],
      chorus: ['IV I V I', 'IV V I vi', 'I IV V I', 'IV I IV V'],
      bridge: ['vi iii IV V', 'ii V I vi', 'IV V vi V'],
    },
    dark: {
      verse: ['i bVII i v', 'i bVI bIII bVII', 'i iv i bVII', 'i bIII bVII i'],
      chorus: ['bVI bVII i i', 'bIII bVII i iv', 'bVI bIII bVII i'],
      bridge: ['iv bVII bIII bVI', 'bVI bVII v i', 'iv i bVII V'],
    },
  },
  country: {
    bright: {
      verse: ['I I IV I', 'I IV I V', 'I I V V', 'I V IV I'],
      chorus: ['IV I V I', 'I IV I V', 'IV IV I V', 'I V vi IV'],
      bridge: ['vi IV II V', 'IV I II V', 'ii IV I V'],
    },
    dark: {
      verse: ['i bVII bVI bVII', 'i iv i V'],
      chorus: ['bIII bVII i V', 'bVI bVII i i'],
      bridge: ['iv i V V', 'bVI bIII iv V'],
    },
  },
  bossa: {
    bright: {
      verse: [
        'Imaj9 II9 ii9 V13',
        'Imaj7 Imaj7 II7 II7 ii7 bII7 Imaj7 bII7',
        'Imaj9 vi9 ii9 V7b9',
        'Imaj7 #io7 ii7 V7',
      ],
      chorus: ['ii9 V13 iii7 VI7b9', 'IVmaj7 iv6 iii7 VI7b9', 'Imaj7 iii7:bIIIo7 ii7 V13'],
      bridge: ['iv7 bVII9 bIIImaj9 bVImaj7', 'bIImaj7 bIImaj7 bV7 bV7', 'v7 I7 IVmaj7 iv6'],
    },
    dark: {
      verse: ['i9 iv9 i9 V7b9', 'i7 i6 iih7 V7b9', 'i7 IV9 bVImaj7 V7b9'],
      chorus: ['iv9 bVII13 bIIImaj7 bVImaj7', 'iv7 V7b9 i9 i9', 'iih7 V7b9 i7 i6'],
      bridge: ['bVImaj7 bVI6 V7b9 V7b9', 'bIIImaj7 bVImaj7 iih7 V7b9'],
    },
  },
  latin: {
    bright: {
      verse: ['I IV V IV', 'I V V I', 'I IV I V', 'I vi ii V'],
      chorus: ['I IV V V', 'IV V I vi', 'ii V I I'],
      bridge: ['vi ii V I', 'IV iv I V', 'vi V IV V'],
    },
    dark: {
      verse: ['i iv V7 V7', 'i bVII bVI V7', 'i i V7 i', 'i iv bVII bIII'],
      chorus: ['iv i V7 i', 'i bVII bVI V7', 'bVI bVII i V7', 'iv bVII bIII V7'],
      bridge: ['bVI bIII bVII V7', 'iv iv i V7', 'bII bII i V7'],
    },
  },
  reggae: {
    bright: {
      verse: ['I IV I IV', 'I V vi IV', 'I ii I ii', 'I IV V IV'],
      chorus: ['I V vi IV', 'I IV V IV', 'IV I V I'],
      bridge: ['vi V IV V', 'ii iii IV V'],
    },
    dark: {
      verse: ['i iv i iv', 'i bVII i bVII', 'i bVI iv v'],
      chorus: ['i bVII bVI bVII', 'bVI bVII i i'],
      bridge: ['iv bVII bIII bVI', 'bVI bVI V V'],
    },
  },
  funk: {
    bright: {
      verse: ['I9 I9 I9 IV9', 'I9 I9 IV9 IV9', 'ii9 V13 ii9 V13'],
      chorus: ['IVmaj7 iii7 ii7 I6', 'IVmaj7 V13 iii7 vi7', 'ii9 iii7 IVmaj7 V13'],
      bridge: ['vi9 II9 vi9 II9', 'bVII9 IV9 I9 V7sus'],
    },
    dark: {
      verse: ['i7 i7 IV9 IV9', 'i9 i9 i9 iv9', 'i7 bVII9 i7 IV9'],
      chorus: ['bVImaj7 bVII9 i7 i7', 'iv9 bVII13 i9 i9', 'bVImaj7 v7 iv7 i7'],
      bridge: ['bIIImaj7 iv7 bVImaj7 V7', 'iv9 v7 bVImaj7 bVII9'],
    },
  },
  soul: {
    bright: {
      verse: ['Imaj7 iii7 IVmaj7 ii7:V7sus', 'Imaj9 vi9 ii9 V13', 'IVmaj7 iii7 ii7 Imaj7', 'Imaj7 IVmaj7 Imaj7 IVmaj7'],
      chorus: ['IVmaj7 V7sus iii7 vi7', 'IVmaj9 iv6 iii7 VI7b9', 'ii9 V13 Imaj9 vi9'],
      bridge: ['vi7 II9 ii7 V7sus', 'bVImaj7 bVII9 Imaj9 Imaj9', 'iii7 vi9 II9 V7sus'],
    },
    dark: {
      verse: ['i9 iv9 i9 v7', 'bVImaj7 v7 i9 i9', 'i7 bIIImaj7 bVImaj7 V7'],
      chorus: ['bVImaj9 bVII9 v7 i9', 'iv9 bVII13 bIIImaj9 V7b9', 'bVImaj7 V7 i9 bIIImaj7'],
      bridge: ['iv9 v7 bVImaj7 bVII9', 'bIImaj7 bIImaj7 i9 i9'],
    },
  },
  dance: {
    bright: {
      verse: ['vi IV I V', 'I V vi IV', 'ii IV vi V', 'IV V iii vi'],
      chorus: ['IV V vi iii', 'vi IV I V', 'IV I V vi'],
      bridge: ['IV IV vi V', 'ii vi IV V'],
    },
    dark: {
      verse: ['i bVI bIII bVII', 'i i bVI bVII', 'i v bVI iv', 'i bIII iv bVI'],
      chorus: ['bVI bVII i i', 'i bVI bIII bVII', 'bVI bIII bVII i', 'iv bVI i bVII'],
      bridge: ['bVI bVI iv v', 'iv bVI bVII bVII', 'bVI v i bVII'],
    },
  },
  techno: {
    bright: {
      verse: ['I I I bVII', 'ii ii IV IV'],
      chorus: ['I I bVII IV', 'ii IV I I'],
      bridge: ['IV IV I I', 'bVII bVII IV IV'],
    },
    dark: {
      verse: ['i i i i', 'i i i bII', 'i i bIII bVII'],
      chorus: ['i i bVI bVII', 'i i iv bVI', 'i bIII i bVII'],
      bridge: ['bVI bVI bVII bVII', 'iv iv i i'],
    },
  },
  ambient: {
    bright: {
      verse: ['Imaj9 Imaj9 IVmaj9 IVmaj9', 'Iadd9 Iadd9 viadd9 IVadd9', 'Imaj9 iii7 IVmaj9 IVmaj9'],
      chorus: ['IVmaj9 Iadd9 Vsus4 viadd9', 'IVadd9 V6 vi9 Imaj9', 'Imaj9 Vsus2 IVmaj9 ii9'],
      bridge: ['vi9 vi9 IVmaj9 Vsus4', 'bVIImaj7 IVadd9 Iadd9 Iadd9', 'ii9 ii9 IVmaj9 Iadd9'],
    },
    dark: {
      verse: ['iadd9 iadd9 bVImaj7 bVImaj7', 'i9 bVImaj9 i9 iv9', 'iadd9 bIIImaj7 bVImaj7 bVIIadd9'],
      chorus: ['bVImaj9 bVIIadd9 iadd9 v7', 'bVImaj7 bIIImaj9 bVIIadd9 i9', 'iv9 bVImaj7 iadd9 bVIIadd9'],
      bridge: ['iv9 iv9 bVImaj9 v7', 'bIImaj7 bIImaj7 iadd9 iadd9'],
    },
  },
  horror: {
    bright: { verse: ['I bII I bII'], chorus: ['I #IV I bII'], bridge: ['bVI bII I I'] },
    dark: {
      verse: ['i i bII i', 'i #ivo i i', 'i bvi i bvi'],
      chorus: ['i bvi #ivo bII', 'bVI bii i V+', 'i iii bvi io7'],
      bridge: ['bii bii io7 io7', 'bvi iii i #ivo7'],
    },
  },
  classical: {
    bright: {
      verse: ['I V7/3 I IV I/3 ii6 V7 I', 'I IV V7 I vi ii V7 I', 'I V vi iii IV I IV V7', 'I I V7 V7 I IV V7 I'],
      chorus: ['IV I V7 vi IV ii V7 I', 'I V7/3 vi iii IV I/3 ii V7', 'V7 I V7 I II7 V II7 V7'],
      bridge: ['vi III7 vi III7 IV I ii V7', 'ii VI7 ii V7 iii VII7 iii V7', 'iv I/3 iio7 V7 bVI iv I V7'],
    },
    dark: {
      verse: [
        'i V7 i iv i iv V7 i',
        'i bVII bVI V7 i iv V7 i',
        'i iv bVII bIII bVI iih7 V7 i',
        'i V7/3 i iv bVI iih7 V7 V7',
      ],
      chorus: ['iv i V7 i iv i II7 V7', 'bIII bVII i V7 bVI iv V7 i', 'i iv bVII bIII bVI iv V7 V7'],
      bridge: ['bIII bVII bVI bIII iv i iih7 V7', 'bVI bIII bII V7 i iv V7 V7', 'I7 iv bVII7 bIII bVI iih7 V7 V7'],
    },
  },
  epic: {
    bright: {
      verse: ['I bVI bVII I', 'I IV vi V', 'I V IV IV'],
      chorus: ['bVI bVII I I', 'I bIII bVII IV', 'IV V vi IV'],
      bridge: ['vi IV I V', 'bVI bIII bVII V'],
    },
    dark: {
      verse: ['i bVI bIII bVII', 'i i bVI bVII', 'i iv bVI V', 'i bIII bVII iv'],
      chorus: ['bVI bVII i i', 'i bVI iv V', 'bVI bIII bVII i', 'i bVII bVI V'],
      bridge: ['iv bVI bVII V', 'bVI bVII bIII V', 'i bvi iii V'],
    },
  },
  celtic: {
    bright: {
      verse: ['I I V V', 'I IV I V', 'I bVII I bVII', 'I V IV V'],
      chorus: ['IV I V I', 'I IV V I', 'vi IV I V'],
      bridge: ['vi V IV V', 'ii V I IV'],
    },
    dark: {
      verse: ['i bVII i bVII', 'i i bVII bVII', 'i bIII bVII i'],
      chorus: ['bVI bVII i i', 'bIII bVII i bVII', 'i bVI bVII i'],
      bridge: ['bIII bVII bVI v', 'iv bVII i i'],
    },
  },
  gospel: {
    bright: {
      verse: ['I I7 IV iv', 'I V/3 vi IV:V', 'I IV I V7sus', 'Imaj7 iii7 IV V7sus'],
      chorus: ['IV V iii7 vi7', 'I I7/3 IV #ivo7', 'IV I/3 ii7 V7'],
      bridge: ['vi7 II7 ii7 V7', 'IV #ivo7 I VI7 ii7 V7 I V7sus', 'bVI bVII I I'],
    },
    dark: {
      verse: ['i iv i V7', 'i bVII bVI V7'],
      chorus: ['bVI bVII i V7', 'iv i V7 i'],
      bridge: ['iv i II7 V7', 'bVI bIII iv V7'],
    },
  },
  asian: {
    bright: {
      verse: ['I I vi vi', 'I vi ii V'],
      chorus: ['IV V vi I', 'vi IV V I'],
      bridge: ['ii ii vi vi', 'IV vi V V'],
    },
    dark: {
      verse: ['i i bVI i', 'i i iv i', 'i bVII i i'],
      chorus: ['iv i bVII i', 'bVI bVII i i', 'bVI iv i i'],
      bridge: ['iv iv i i', 'bVI bVI v i'],
    },
  },
} as const satisfies Readonly<Record<string, ProgressionFamily>>;

export type ProgressionName = keyof typeof PROGRESSIONS;
