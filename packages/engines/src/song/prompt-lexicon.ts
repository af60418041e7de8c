/**
 * What a prompt's words mean to the band: genres, moods, and places and scenes that imply a genre. Data only; the
 * reading is in `prompt-reading.ts`. Phrases are written as they are typed, in lower case.
 */
import type { ModeName } from './theory.ts';

export const GENRE_NAMES = [
  'pop',
  'ballad',
  'rock',
  'metal',
  'punk',
  'blues',
  'country',
  'folk',
  'jazz',
  'bossa',
  'latin',
  'reggae',
  'funk',
  'soul',
  'lofi',
  'hiphop',
  'trap',
  'house',
  'drum-and-bass',
  'techno',
  'trance',
  'synthwave',
  'ambient',
  'dark-ambient',
  'classical',
  'waltz',
  'epic',
  'piano',
  'music-box',
  'chiptune',
  'celtic',
  'march',
  'gospel',
  'asian',
] as const;

export type GenreName = (typeof GENRE_NAMES)[number];

/** Genres by name; the earliest in a prompt wins, and of two at the same position the longer. */
export const GENRE_WORDS: Readonly<Record<GenreName, string>> = {
  pop: 'pop|k-pop|j-pop|indie pop|dance pop|chart|catchy|jingle|commercial|advert|corporate|ukulele song|upbeat song|anthem',
  ballad: 'ballad|power ballad|love song|torch song|slow song|singer songwriter|singer-songwriter',
  rock: 'rock|indie rock|alternative|garage rock|hard rock|classic rock|grunge|surf rock|rock and roll|rock n roll|arena rock|post-rock|britpop',
  metal: 'metal|heavy metal|thrash|death metal|metalcore|djent|doom metal|nu metal',
  punk: 'punk|punk rock|pop punk|ska punk|hardcore',
  blues: 'blues|delta blues|twelve bar|12 bar|12-bar|boogie|boogie woogie|rhythm and blues',
  country: 'country|bluegrass|honky tonk|western|americana|hillbilly|outlaw country|nashville|cowboy',
  folk: 'folk|acoustic|campfire|fingerpicking|fingerpicked|indie folk|sea shanty|shanty|troubadour|unplugged',
  jazz: 'jazz|swing|bebop|big band|smooth jazz|cool jazz|dixieland|noir|ragtime|lounge|speakeasy|gypsy jazz|cocktail',
  bossa: 'bossa nova|bossa|samba|brazilian|elevator music|easy listening',
  latin: 'latin|salsa|cumbia|mambo|cha cha|cha-cha|reggaeton|mariachi|rumba|cuban|tropical|merengue|flamenco|tango',
  reggae: 'reggae|dub|ska|dancehall|calypso|island|rasta|jamaican',
  funk: 'funk|funky|disco|groove|groovy|nu disco|boogie funk',
  soul: 'soul|r&b|rnb|neo soul|neo-soul|motown|slow jam',
  lofi: 'lo-fi|lofi|lo fi|chillhop|lofi hip hop|lo-fi hip hop|lo-fi hip-hop|study beats|chill beats|chill|downtempo|trip hop|trip-hop',
  hiphop: 'hip hop|hip-hop|hiphop|rap|boom bap|gangsta|freestyle|cypher|spoken word',
  trap: 'trap|drill|phonk|cloud rap|trap beat',
  'drum-and-bass': 'drum and bass|drum n bass|drum & bass|dnb|d&b|jungle|liquid funk|dubstep|breakbeat|breakcore',
  house:
    'house|deep house|edm|dance music|club|garage|uk garage|eurodance|dance|party|festival|future bass|electro|electronic',
  techno: 'techno|minimal techno|acid techno|rave|industrial|warehouse|acid house|minimal',
  trance: 'trance|psytrance|uplifting trance|goa',
  synthwave: 'synthwave|synth wave|retrowave|outrun|synthpop|synth pop|80s|eighties|new wave|vaporwave|cyberpunk|retro',
  ambient:
    'ambient|meditation|meditative|new age|spa|yoga|sleep|drone music|soundscape|relaxing|relaxation|healing|chillout|chill-out|space music',
  'dark-ambient': 'dark ambient|horror|haunted|scary|creepy|eerie|sinister|suspense|thriller|ominous|nightmare',
  classical:
    'classical|baroque|symphony|symphonic|string quartet|chamber music|concerto|sonata|mozart|bach|vivaldi|orchestral|orchestra|minuet|fugue|opera|romantic era|wedding|ballet|christmas|carol',
  waltz: 'waltz|viennese waltz|ballroom|carousel|musette|valse',
  epic: 'epic|cinematic|trailer|film score|movie score|soundtrack|battle|heroic|superhero|blockbuster|war|adventure|fantasy|dragon|hero|viking|vikings|knights',
  piano:
    'solo piano|piano solo|piano piece|nocturne|etude|prelude|piano ballad|piano music|neoclassical|neo-classical|satie|chopin',
  'music-box': 'music box|musicbox|lullaby|nursery|nursery rhyme|baby|cradle song|snow globe|toy',
  chiptune:
    'chiptune|chip tune|8-bit|8 bit|8bit|16-bit|video game|videogame|nintendo|game boy|gameboy|arcade|retro game|platformer|pixel',
  celtic: 'celtic|irish|scottish|jig|reel|tavern|medieval|renaissance|pub|highland|gaelic|pirate|pirates|bard|elven',
  march: 'march|marching band|military|parade|fanfare|national anthem|circus|polka|oompah',
  gospel: 'gospel|church|worship|hymn|choir song|spiritual|praise|choral',
  asian:
    'japanese|chinese|asian|oriental|zen garden|zen|samurai|geisha|kabuki|indian|raga|arabic|arabian|middle eastern|persian|egyptian|turkish|balkan|bollywood',
};

/** Scenes that are not names of genres, and the genres that they imply. */
export const SCENE_WORDS: Readonly<Partial<Record<GenreName, string>>> = {
  lofi: 'study|studying|homework|rainy window|late night coding|coding|bedroom|cassette|coffee shop',
  jazz: 'cafe|bar|cigar|detective|new york|saxophone|city at night|midnight|whiskey',
  bossa: 'beach|terrace|summer breeze|rio|brunch|cocktails',
  reggae: 'palm|palms|sunshine island|hammock|caribbean',
  synthwave: 'neon|night drive|highway at night|miami|robot|robots|hacker|arcade lights|car chase|driving',
  ambient: 'space|galaxy|stars|cosmos|ocean|underwater|floating|clouds|mist|fog|dawn|nebula|glacier|aurora|forest|rain',
  'dark-ambient': 'ghost|ghosts|vampire|monster|cave|abandoned|graveyard|zombie',
  epic: 'castle|king|queen|army|sword|mountain|mountains|victory|olympics|rocket|launch|planet|empire|gladiator|storm',
  folk: 'river|meadow|farm|cabin|village|autumn|walk in the woods|hiking|hometown|home',
  country: 'truck|ranch|desert road|saloon|prairie|whisky',
  celtic: 'ireland|scotland|fairy|fairies|elf|elves|druid|sailor|sailors|harbour|harbor|dance in the village',
  classical: 'palace|ball|museum|royal|aristocrat|ballerina|winter|snow|garden',
  piano: 'letter|memory|memories|tears|loss|farewell|goodbye|heartbreak|lonely|alone',
  'music-box': 'doll|dolls|child|children|kids|sleeping|bedtime',
  latin: 'fiesta|havana|carnival|matador|spain|mexico|chili',
  hiphop: 'street|streets|brooklyn|basketball|graffiti',
  house: 'gym|workout|fitness|running|fashion|runway|nightclub',
  rock: 'motorcycle|highway|road trip|rebel|stadium|race|racing|skateboard',
  pop: 'birthday|holiday|friends|teen|smile|product|vlog|spring|sunny|sunshine|summer',
  ballad: 'love|lover|kiss|romance|anniversary|moonlight',
  asian: 'tokyo|kyoto|temple|bamboo|bazaar|caravan|cherry blossom|cherry blossoms|sahara|desert|ninja|tea ceremony',
  chiptune: 'level|boss fight|game|gaming|mario|tetris',
  march: 'clown|soldiers|brass band|elephant|elephants',
};

export interface Mood {
  readonly words: string;
  /** Dark -1 to bright 1: selects the mode. */
  readonly valence: number;
  /** Calm -1 to driven 1: tempo, density and loudness of the parts. */
  readonly energy: number;
  /** A mode that goes with it if the genre leaves the choice open. */
  readonly mode?: ModeName;
}

export const MOODS: readonly Mood[] = [
  {
    words: 'happy|joyful|cheerful|merry|joy|uplifting|bright|sunny|feel-good|feel good|optimistic|celebration',
    valence: 1,
    energy: 0.4,
  },
  {
    words: 'sad|melancholy|melancholic|sorrow|sorrowful|grief|mournful|heartbroken|tearful|blue|lament|lonely',
    valence: -1,
    energy: -0.5,
  },
  { words: 'dark|gloomy|brooding|sinister|evil|grim|menacing', valence: -1, energy: 0, mode: 'phrygian' },
  {
    words: 'calm|peaceful|relaxed|relaxing|gentle|soft|quiet|soothing|tranquil|serene|mellow|tender|slow',
    valence: 0.3,
    energy: -0.7,
  },
  {
    words: 'energetic|driving|powerful|intense|fast|upbeat|lively|hard|heavy|aggressive|wild|pumping|explosive',
    valence: 0,
    energy: 0.8,
  },
  { words: 'romantic|loving|sensual|intimate|warm|sweet', valence: 0.5, energy: -0.4 },
  { words: 'mysterious|mystic|mystical|enigmatic|strange|exotic|secret', valence: -0.5, energy: -0.2, mode: 'dorian' },
  { words: 'epic|heroic|triumphant|majestic|grand|victorious|glorious', valence: 0.1, energy: 0.6 },
  { words: 'playful|quirky|funny|comic|silly|cute|whimsical|bouncy|goofy', valence: 0.9, energy: 0.3, mode: 'major' },
  {
    words: 'tense|suspenseful|anxious|nervous|urgent|dramatic|desperate',
    valence: -0.8,
    energy: 0.4,
    mode: 'harmonic',
  },
  {
    words: 'dreamy|ethereal|floating|magical|magic|enchanted|celestial|wonder|weightless',
    valence: 0.3,
    energy: -0.5,
    mode: 'lydian',
  },
  { words: 'nostalgic|nostalgia|bittersweet|wistful|longing|vintage|yearning', valence: -0.2, energy: -0.3 },
  { words: 'angry|furious|rage|brutal|violent', valence: -1, energy: 1, mode: 'phrygian' },
  { words: 'hopeful|inspiring|inspirational|motivational|hope|heartwarming', valence: 0.8, energy: 0.1 },
  { words: 'chill|laid-back|laid back|smooth|lazy|cozy|cosy', valence: 0.1, energy: -0.4 },
];
