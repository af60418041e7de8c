/**
 * The patterns of the players, written as strings of steps, sixteen a bar of 4/4 and twelve a bar of 3/4 or 6/8. Data
 * only; `playing.ts` reads it.
 *
 * Drums: one line per drum, `X` loud, `x` normal, `o` soft, `-` nothing. Bass: `1` root, `5` fifth, `8` octave, `3`
 * third, `7` seventh, `a` a step before the next root, `.` held, `-` rest. Chords: `X` loud, `x` normal, `o` the upper
 * notes softly, `b` the lowest note, `1`-`8` one note of the chord counted upward through the octaves, `.` held, `-`
 * rest.
 */

/** Letters of drums and their keys in a General MIDI kit. */
export const DRUM_KEYS: Readonly<Record<string, number>> = {
  k: 36,
  s: 38,
  r: 37,
  C: 39,
  h: 42,
  p: 44,
  H: 46,
  d: 51,
  B: 53,
  c: 49,
  t: 45,
  m: 47,
  T: 50,
  a: 54,
  w: 56,
  g: 70,
  q: 63,
  Q: 64,
  u: 62,
  n: 61,
  N: 60,
  L: 75,
  y: 67,
  z: 65,
  i: 81,
  e: 42,
};

/** Grooves by name: for quiet, middle and full sections. */
export const GROOVES: Readonly<Record<string, readonly [low: string, middle: string, high: string]>> = {
  pop: [
    'k:X-------x-------;r:----x-------x---;h:x-o-x-o-x-o-x-o-',
    'k:X-----x-X-------;s:----X-------X---;h:x-o-x-o-x-o-x-oo',
    'k:X-----x-X-x-----;s:----X-------X--o;h:X-x-X-x-X-x-X-x-;a:----x-------x---;C:----o-------o---',
  ],
  ballad: [
    'g:o-o-o-o-o-o-o-o-',
    'k:X-------x-------;r:----x-------x---;h:x---x---x---x---',
    'k:X-----x-x-------;s:----X-------X---;d:x-o-x-o-x-o-x-o-',
  ],
  rock: [
    'k:X-------X-x-----;r:----x-------x---;h:x-x-x-x-x-x-x-x-',
    'k:X-----x-X-------;s:----X-------X---;h:X-x-X-x-X-x-X-x-',
    'k:X-x---x-X-x---x-;s:----X-------X---;H:x---x---x---x---;d:X-x-X-x-X-x-X-x-',
  ],
  metal: [
    'k:X-------X-------;s:--------X-------;d:x---x---x---x---',
    'k:X-xxX-xxX-xxX-xx;s:----X-------X---;h:X---X---X---X---',
    'k:XxxxXxxxXxxxXxxx;s:----X-------X---;c:x-----------x---;d:X-x-X-x-X-x-X-x-',
  ],
  punk: [
    'k:X---X---X---X---;h:x-x-x-x-x-x-x-x-',
    'k:X---X-x-X---X-x-;s:--X---X---X---X-;h:X-X-X-X-X-X-X-X-',
    'k:X---X-x-X---X-x-;s:--X---X---X---X-;d:X-X-X-X-X-X-X-X-;c:x---------------',
  ],
  shuffle: [
    'k:X-------x-------;r:----x-------x---;h:x-o-x-o-x-o-x-o-',
    'k:X-----x-X-----x-;s:----X-------X---;h:X-o-X-o-X-o-X-o-',
    'k:X-----x-X-x---x-;s:----X--o----X--o;d:X-o-X-o-X-o-X-o-',
  ],
  train: [
    'k:X-------X-------;g:o-o-o-o-o-o-o-o-',
    'k:X-------X-------;s:o-o-X-o-o-o-X-o-;h:----x-------x---',
    'k:X---x---X---x---;s:o-ooX-o-o-ooX-oo;a:----x-------x---',
  ],
  folk: [
    'g:o-o-o-o-o-o-o-o-',
    'k:X-------x-------;a:----x-------x---;g:o-o-o-o-o-o-o-o-',
    'k:X-----x-X-------;a:----X-------X---;g:x-o-x-o-x-o-x-oo',
  ],
  swing: [
    'd:x---x-o-x---x-o-;p:----x-------x---',
    'd:X---X-o-X---X-o-;p:----x-------x---;k:o-------o-------',
    'd:X---X-o-X---X-o-;p:----x-------x---;k:o-----x-o-------;s:---o------o---o-',
  ],
  bossa: [
    'k:x-----x-x-----x-;g:o-o-o-o-o-o-o-o-',
    'k:x-----x-x-----x-;r:x--x--x---x--x--;h:o-o-o-o-o-o-o-o-',
    'k:X-----x-X-----x-;r:X--x--x---x--x--;h:x-o-x-o-x-o-x-o-;g:o-o-o-o-o-o-o-o-',
  ],
  latin: [
    'L:X--x--x---x-x---;g:o-x-o-x-o-x-o-x-',
    'L:X--x--x---x-x---;q:--x---xx--x---xx;Q:------------x-x-;w:X---x---X---x---;k:------x-------x-',
    'L:X--x--x---x-x---;q:--x---xx--x---xx;Q:------------x-x-;w:X---x-x-X---x-x-;z:x---------x--xx-;k:------x-------x-;g:x-o-x-o-x-o-x-o-',
  ],
  reggae: [
    'r:--------x-------;h:x-o-x-o-x-o-x-o-',
    'k:--------X-------;r:--------X-------;h:x-o-x-oox-o-x-o-',
    'k:X-------X-------;s:--------X-----o-;h:x-o-x-oox-o-x-oo;q:------x-----x-x-',
  ],
  funk: [
    'k:X-----x---x-----;r:----x-------x---;h:x-o-x-o-x-o-x-o-',
    'k:X--x--x---x--x--;s:----X--o-o--X--o;h:x-xox-xox-xox-xo',
    'k:X--x--x---x--x--;s:----X--o-o--X--o;h:xoxoxoxoxoxoxoxo;H:--------------x-;w:x---x---x---x---',
  ],
  soul: [
    'k:X-------x-------;r:----x-------x---;h:o-o-o-o-o-o-o-o-',
    'k:X------x--x-----;s:----X-------X---;h:x-o-x-o-x-oox-o-',
    'k:X------x--x---x-;s:----X--o----X---;h:x-o-x-oox-o-x-oo;a:----o-------o---',
  ],
  lofi: [
    'h:o---o---o---o---;k:x-------x-------',
    'k:X------x--x-----;r:----X-------X---;h:x-o-x-o-x-oox-o-',
    'k:X------x-xx-----;s:----X-------X--o;h:x-o-xoo-x-oox-o-;g:o-o-o-o-o-o-o-o-',
  ],
  boombap: [
    'k:X-------x-------;h:x-x-x-x-x-x-x-x-',
    'k:X------x-xx-----;s:----X-------X---;h:x-x-x-xox-x-x-x-',
    'k:X--x---x-xx-----;s:----X-------X-o-;h:x-x-x-xox-xxx-x-;H:--------------x-',
  ],
  trap: [
    'h:x-x-x-x-x-x-x-x-',
    'k:X------x--x-----;C:--------X-------;h:x-x-x-xxx-x-xxxx',
    'k:X--x---x--x---x-;C:--------X-------;s:--------x-------;h:x-xxx-xxx-xxxxxx;H:----------x-----',
  ],
  breaks: [
    'h:x-x-x-x-x-x-x-x-;k:X---------x-----',
    'k:X---------x-----;s:----X-------X---;h:x-x-x-x-x-x-x-x-',
    'k:X-x-------x-----;s:----X--o-o--X--o;h:x-xox-xox-xox-xo;H:--------------x-;d:x---x---x---x---',
  ],
  house: [
    'k:X---X---X---X---;h:--x---x---x---x-',
    'k:X---X---X---X---;C:----X-------X---;H:--x---x---x---x-;h:x-o-x-o-x-o-x-o-',
    'k:X---X---X---X---;C:----X-------X---;H:--X---X---X---X-;h:xoxoxoxoxoxoxoxo;g:o-o-o-o-o-o-o-oo',
  ],
  techno: [
    'k:X---X---X---X---;g:o-o-o-o-o-o-o-o-',
    'k:X---X---X---X---;H:--x---x---x---x-;r:-----o--o----o--',
    'k:X---X---X---X---;H:--X---X---X---X-;C:----x-------x---;h:xoxoxoxoxoxoxoxo;r:---x--x----x--x-',
  ],
  synthwave: [
    'k:X---X---X---X---;h:o-o-o-o-o-o-o-o-',
    'k:X---X---X---X---;s:----X-------X---;h:x-o-x-o-x-o-x-o-',
    'k:X---X---X---X-x-;s:----X-------X---;h:xoxoxoxoxoxoxoxo;H:--x---x---x---x-;t:--------------x-',
  ],
  epic: [
    't:X-----------x-x-',
    'k:X-----x-X-------;t:X--x--x-X--x--x-',
    'k:X-----x-X-x---x-;t:X-xxX-x-X-xxX-xx;s:----x-------x-xx;c:X---------------',
  ],
  chip: [
    'h:x-x-x-x-x-x-x-x-',
    'k:X---x---X---x---;s:----X-------X---;h:x-x-x-x-x-x-x-x-',
    'k:X--xx---X--xx---;s:----X--x----X-xx;h:xxxxxxxxxxxxxxxx',
  ],
  march: [
    's:x--ox--ox--oxooo',
    'k:X---x---X---x---;s:x-oox-oox-ooxooo;c:----o-------o---',
    'k:X---X---X---X---;s:X-oox-ooX-ooxxxx;c:X-------x-------',
  ],
  gospel: [
    'a:----o-------o---',
    'k:X-----x-x-------;s:----X-------X---;h:x-o-x-o-x-o-x-o-',
    'k:X-----x-X--x----;s:----X--o----X---;h:x-o-x-o-x-o-x-o-;a:--x-X-x---x-X-x-;C:----x-------x---',
  ],
  reel: [
    'q:o---o---o---o---',
    'q:X--oQ-oox--oQ-oo;a:----x-------x---',
    'k:X-------X-------;q:X--oQ-oox--oQ-oo;a:x-o-X-o-x-o-X-o-',
  ],
  taiko: [
    't:x---------------',
    't:X-------x--x----;L:----------o-----',
    't:X--x--x-X--x--xx;L:--o---o---o---o-;k:X-------X-------',
  ],
  none: ['', '', ''],
};

/** The same for bars of twelve steps: 3/4 in quarters of four, 6/8 in dotted quarters of six. */
export const GROOVES_OF_THREE: Readonly<Record<string, readonly [low: string, middle: string, high: string]>> = {
  waltz: ['i:x-----------', 'k:X-----------;r:----o---o---', 'k:X-----------;s:----x---x---;d:X---x---x---'],
  'jazz-waltz': [
    'd:x---x-o-x---',
    'd:X---x-o-x---;p:----x-------',
    'd:X---x-o-x-o-;p:----x---x---;k:x-----o-----;s:-------o----',
  ],
  'pop-six': [
    'k:X-----------;r:------x-----;h:x-o-o-x-o-o-',
    'k:X-----------;s:------X-----;h:X-o-o-X-o-o-',
    'k:X---x-----x-;s:------X-----;d:X-o-o-X-o-o-',
  ],
  jig: ['q:x-----x-----', 'q:X---o-x---o-;a:------x-----', 'k:X-----X-----;q:X-o-o-x-o-o-;a:x-o-o-X-o-o-'],
  'epic-six': ['t:X-----------', 't:X---x-X---x-;k:X-----------', 'k:X-----X---x-;t:X-x-xxX-x-xx;c:X-----------'],
  none: ['', '', ''],
};

/** The bar before a new section. */
export const FILLS: Readonly<Record<string, readonly string[]>> = {
  kit: [
    'k:X---x---X---X---;s:----X---X-xxX-xx;T:---------x------;m:----------xx----;t:------------xxxx',
    'k:X-------X-----x-;s:----X-------Xxxx;h:x-x-x-x---------',
    'k:X-----x-X-------;s:----X---x-x-xxXX;T:--------xx------;t:----------xx----',
    'k:X---X---X---X---;T:--------x-x-----;m:----------x-x---;t:------------x-xX;s:----X-----------',
  ],
  soft: [
    'r:----x-----x-x-x-;h:x-o-x-o-x---x---',
    's:----------o-o-oo;h:x-o-x-o-x-o-----',
    'r:------x---x--x--;k:X-------x-------',
  ],
  build: [
    'k:X---X---X---X---;s:x-x-x-x-xxxxXXXX',
    's:x---x---x-x-x-xx;k:X-------X-------',
    'k:X---X---X-X-XXXX;C:x---x---x-x-xxxx',
  ],
  hands: ['q:x-x-xxx-x-xxxxxx;Q:--x-----x-------;z:----------x-x-xx', 'z:--------X-xxX-xx;q:x--x--x---------'],
  drums: ['t:X---X---X-X-XXXX;k:X-------X---X---', 't:x-xxx-xxX-xxXXXX;s:--------x-x-xxxx'],
};

export const FILLS_OF_THREE: Readonly<Record<string, readonly string[]>> = {
  kit: ['k:X-----------;s:----x-x-XxXX;t:--------x-xx', 's:------X-xxxx;k:X-----X-----'],
  soft: ['r:----x---x-x-', 's:------o-o-oo'],
  build: ['s:x---x-x-xxxx'],
  hands: ['q:x-x-xxx-xxxx'],
  drums: ['t:X-X-X-XXXXXX;k:X-----X-----'],
};

/** Bass lines by name; `walk` and `drone` are generated by rules. */
export const BASS_LINES: Readonly<Record<string, readonly string[]>> = {
  whole: ['1...............', '1.......1.......'],
  pop: ['1.....1.1.....1.', '1.....1.5.....8.', '1...--1.1.--5.a.'],
  eighths: ['1.1.1.1.1.1.1.1.', '1.1.1.1.1.1.1.a.'],
  sixteenths: ['1-111-111-111-11', '1111111111111111'],
  rootfifth: ['1...----5...----', '1...----5...--a.'],
  octaves: ['1-8-1-8-1-8-1-8-', '1-8-1-8-1-8-5-8-'],
  offbeat: ['--1---1---1---1-', '--1.--1.--1.--8.'],
  acid: ['1-18--1-1--81-3-', '11-81-1-11-81-57', '1--1-81-1-31-8-1'],
  funk: ['1--8--1---57-8--', '1-1---8-7-5---a-', '1---18---1-58-7-'],
  soul: ['1.....-1--5.8.7.', '1......18.--5.a.'],
  reggae: ['--1.1.--1...3.5.', '1...--5.1.--3.5.', '1.--3.5.----1.1.'],
  bossa: ['1.....5.5.....1.', '1.....5.5.....a.'],
  tumbao: ['------5.....1...', '------5.....8...'],
  sub: ['1.........------', '1......---1...--', '1.....----1.5...'],
  lofi: ['1.......--1.5...', '1.....--1...5.a.', '1.......5.......'],
  epic: ['1.......1.......', '1.....1.1.......'],
  chip: ['1-8-1-8-1-8-1-8-', '1-1-8-1-1-5-8-5-'],
  oom: ['1---....5---....', '1---5---1---5---'],
};

export const BASS_LINES_OF_THREE: Readonly<Record<string, readonly string[]>> = {
  whole: ['1...........'],
  waltz: ['1...--------', '1...------a.'],
  six: ['1.....1.....', '1.....5.....', '1...1.1...a.'],
  eighths: ['1.1.1.1.1.1.'],
};

/** Accompaniments by name. */
export const COMP_PATTERNS: Readonly<Record<string, readonly string[]>> = {
  hold: ['X...............'],
  halves: ['X.......x.......'],
  quarters: ['X---x---x---x---', 'X..-x..-x..-x..-'],
  eighths: ['X.x.x.x.X.x.x.x.'],
  strum: ['X...X.o.--o.X.o.', 'X.--x.o.-.o.x.o.', 'X...x.ox..ox.xo.'],
  strumfast: ['X.x.xoxoX.x.xoxo', 'X..xx.oxX..xx.ox'],
  push: ['X.....X.......x.', 'X.....x...X.....'],
  pick: ['1-3-2-4-1-3-2-4-', 'b-3-4-5-b-3-5-4-', 'b.4.3.5.2.4.3.5.'],
  broken: ['b.2.3.4.5.4.3.2.', 'b.3.5.4.3.4.5.3.', 'b...3.4.5...4.3.'],
  alberti: ['1.3.2.3.1.3.2.3.', '1.3.2.3.4.3.2.3.'],
  arpeggio: ['1234543212345432', '1-2-3-4-5-4-3-2-', '1-3-2-4-3-5-4-3-'],
  arpfast: ['1234123412341234', '1324132413241324', '4321432143214321', '1235123512351235'],
  rolling: ['b.3.4.5.6.5.4.3.', 'b.2.4.5.6.5.4.2.'],
  skank: ['----x-------x---', '----x-x-----x-x-'],
  bubble: ['--x-oox---x-oox-'],
  charleston: ['X.....x---------', '------X.....x---', 'X---------x.----', '--x.------x---x-'],
  bossa: ['x..x..x...x..x--', 'b.x---x.b---x.x-'],
  montuno: ['1-48-4-1-48-4-8-', 'X--xx-xx-xx-xx-x'],
  stabs: ['--X---X---X---X-', 'X--X--X---X--X--', '---X--X----X--X-'],
  pulse: ['x-x-x-x-x-x-x-x-', 'xoxoxoxoxoxoxoxo'],
  trance: ['X--X--X--X--X-X-', 'x-xx-xx-x-xx-xx-'],
  chop: ['----x-------x---'],
  boomchick: ['b---x---b---x---', 'b---x-o-b---x-o-'],
  funk: ['x--o--x---x-o---', 'X-o-x--o-ox--o--', '--x-oox--ox-o-x-'],
  chug: ['X-x-x-x-X-x-x-x-', 'X-xxx-xxX-xxX-xx', 'X--x--x-X--x--x-'],
  power: ['X.......X.....X.', 'X.....X.X.......', 'X...............'],
  ostinato: ['X-xxx-xxX-xxx-xx', '1-331-331-331-33', 'XxxxxxxxXxxxxxxx'],
  gospel: ['X.....x.x...x.o.', 'X...--x.X.--x.x.'],
  swells: ['o...............', 'x.......o.......'],
  lofi: ['X.........x.....', 'x.....o.....x...', 'X.......--x.....'],
  horns: ['------X-----X-x-', 'X-----X---------', '--------X--X--X-'],
  drone: ['X...............'],
  oompah: ['----x-------x---'],
};

export const COMP_PATTERNS_OF_THREE: Readonly<Record<string, readonly string[]>> = {
  hold: ['X...........'],
  waltz: ['----x---x---', '----x-..x-..'],
  broken: ['b.2.3.4.3.2.', 'b.3.4.5.4.3.'],
  rolling: ['b.3.5.6.5.3.'],
  six: ['X.o.o.x.o.o.', 'X...o.x...o.'],
  pick: ['b.2.3.4.3.2.', '1.3.4.2.4.3.'],
  pulse: ['x-x-x-x-x-x-'],
  swells: ['o...........'],
  arpeggio: ['1.2.3.4.3.2.', '1-2-3-4-5-4-'],
  ostinato: ['X-xxx-X-xxx-', '1-331-1-331-'],
};
