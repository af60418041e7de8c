/**
 * Small files whose tables are designed to cost a reader minutes and gigabytes: a few hundred bytes that claim
 * billions of entries, and large ones that really have millions. Written box by box (ISO/IEC 14496-12 §8).
 */

/** One box of an MP4. */
function box(type: string, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(content.length + 8, 0);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, content]);
}

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, index * 4);
  return bytes;
}

const zeros = (length: number): Buffer => Buffer.alloc(length);
const text = (value: string): Buffer => Buffer.from(value, 'latin1');

const IDENTITY = words(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000);
const FILE_TYPE = box('ftyp', text('isom'), words(0x200), text('isomiso2avc1mp41'));

export interface Tables {
  /** Count and data of each table of samples. */
  readonly stts?: Buffer;
  readonly ctts?: Buffer;
  readonly stsz?: Buffer;
  readonly stsc?: Buffer;
  readonly stco?: Buffer;
  readonly stss?: Buffer;
}

function avcEntry(): Buffer {
  const avcC = box(
    'avcC',
    Buffer.from('0142c01effe1000867 42c01e d9005005bb01000468ce3c80'.replaceAll(' ', ''), 'hex'),
  );
  const fields = Buffer.concat([
    zeros(6),
    Buffer.from([0, 1]),
    zeros(16),
    Buffer.from([1, 64, 0, 240]),
    words(0x480000, 0x480000, 0),
    Buffer.from([0, 1]),
    zeros(32),
    Buffer.from([0, 24, 0xff, 0xff]),
  ]);
  return box('avc1', fields, avcC);
}

function pcmEntry(): Buffer {
  const fields = Buffer.concat([
    zeros(6),
    Buffer.from([0, 1]),
    zeros(8),
    Buffer.from([0, 2, 0, 16, 0, 0, 0, 0]),
    words(48_000 * 65_536),
  ]);
  return box('sowt', fields);
}

function track(id: number, kind: 'video' | 'pcm', tables: Tables): Buffer {
  const {
    stts = words(0, 1, 1, 1_000),
    stsz = words(0, 100, 1),
    stsc = words(0, 1, 1, 1, 1),
    stco = words(0, 1, 600),
  } = tables;
  const sampleTable = box(
    'stbl',
    box('stsd', words(0, 1), kind === 'video' ? avcEntry() : pcmEntry()),
    box('stts', stts),
    ...(tables.ctts === undefined ? [] : [box('ctts', tables.ctts)]),
    ...(tables.stss === undefined ? [] : [box('stss', tables.stss)]),
    box('stsc', stsc),
    box('stsz', stsz),
    box('stco', stco),
  );
  const handler = kind === 'video' ? 'vide' : 'soun';
  const media = box(
    'mdia',
    box('mdhd', words(0, 0, 0, 1_000, 1_000, 0x55c40000)),
    box('hdlr', words(0, 0), text(handler), zeros(13)),
    box(
      'minf',
      kind === 'video' ? box('vmhd', words(1, 0, 0)) : box('smhd', words(0, 0)),
      box('dinf', box('dref', words(0, 1), box('url ', words(1)))),
      sampleTable,
    ),
  );
  const header = box('tkhd', words(7, 0, 0, id, 0, 1_000, 0, 0, 0, 0), IDENTITY, words(320 << 16, 240 << 16));
  return box('trak', header, media);
}

/** An MP4 of tracks with these tables, and some bytes of samples. */
export function mp4(tracks: readonly { readonly kind: 'video' | 'pcm'; readonly tables: Tables }[]): Buffer {
  const header = box('mvhd', words(0, 0, 0, 1_000, 1_000, 0x10000, 0x01000000, 0, 0), IDENTITY, zeros(24), words(99));
  const movie = box('moov', header, ...tracks.map(({ kind, tables }, index) => track(index + 1, kind, tables)));
  return Buffer.concat([FILE_TYPE, movie, box('mdat', zeros(100))]);
}

/** A fragmented MP4 whose one fragment claims the given number of samples. */
function fragmented(samples: number): Buffer {
  const header = box('mvhd', words(0, 0, 0, 1_000, 0, 0x10000, 0x01000000, 0, 0), IDENTITY, zeros(24), words(99));
  const extends_ = box('mvex', box('trex', words(0, 1, 1, 1, 1, 0)));
  const empty = { stts: words(0, 0), stsz: words(0, 0, 0), stsc: words(0, 0), stco: words(0, 0) };
  const movie = box('moov', header, track(1, 'video', empty), extends_);
  const run = box('trun', words(0x000000, samples));
  const fragment = box('moof', box('mfhd', words(0, 1)), box('traf', box('tfhd', words(0x020000, 1)), run));
  return Buffer.concat([FILE_TYPE, movie, fragment, box('mdat', zeros(100))]);
}

/** The given number of AAC frames of minimum length, in a container without any table. */
function adtsFrames(count: number): Buffer {
  return Buffer.alloc(count * 8, Buffer.from([0xff, 0xf1, 0x50, 0x80, 0x01, 0x1f, 0xfc, 0x00]));
}

/** The given number of Ogg pages with one byte of Opus each. */
export function oggPages(count: number): Buffer {
  const page = (flags: number, serial: number, body: Buffer): Buffer => {
    const head = Buffer.alloc(28);
    head.write('OggS', 0, 'latin1');
    head.writeUInt8(flags, 5);
    head.writeUInt32LE(7, 14);
    head.writeUInt32LE(serial, 18);
    head.writeUInt8(1, 26);
    head.writeUInt8(body.length, 27);
    return Buffer.concat([head, body]);
  };
  const opusHead = Buffer.from('4f707573486561640102380180bb0000000000', 'hex');
  const tags = Buffer.concat([text('OpusTags'), Buffer.from([0, 0, 0, 0, 0, 0, 0, 0])]);
  return Buffer.concat([
    page(2, 0, opusHead),
    page(0, 1, tags),
    Buffer.alloc(count * 29, page(0, 2, Buffer.from([0xfc]))),
  ]);
}

/** A Matroska file with one cluster of the given number of blocks of one byte. */
export function matroskaBlocks(count: number): Buffer {
  const element = (id: string, body: Buffer): Buffer => {
    const size = Buffer.alloc(8);
    size.writeBigUInt64BE(BigInt(body.length) | (1n << 56n));
    return Buffer.concat([Buffer.from(id, 'hex'), size, body]);
  };
  const header = element('1a45dfa3', element('4282', text('matroska')));
  const entry = Buffer.concat([
    element('d7', Buffer.from([1])),
    element('73c5', Buffer.from([1])),
    element('83', Buffer.from([2])),
    element('86', text('A_OPUS')),
    element('e1', Buffer.concat([element('b5', Buffer.from('473b8000', 'hex')), element('9f', Buffer.from([2]))])),
  ]);
  const block = Buffer.from('a385810000800000'.slice(0, 14), 'hex');
  const cluster = element(
    '1f43b675',
    Buffer.concat([element('e7', Buffer.from([0])), Buffer.alloc(count * block.length, block)]),
  );
  return Buffer.concat([
    header,
    element('18538067', Buffer.concat([element('1654ae6b', element('ae', entry)), cluster])),
  ]);
}

const BILLIONS = 0xffffffff;

/** Made of randomly changed bytes: its reader never ends, and takes no memory. */
export const ENDLESS = 'a Matroska file of 199 bytes that is read for ever';
const ENDLESS_MATROSKA = [
  '1a45dfa30100000000000012428201000000000000086d6174726f736b6118538067010000000000009c1654ae6b0100000000000057ae',
  '010000000000004ed701000000000000010173c50100000000000001018301000000000000010286010000000000000677415f4f505553',
  'e10100000000000017b50100000000000004473b80009f01620000de000001021f43b6ff010000000000002de701004c000000000100a3',
  '858100008000a3858100008000a3858100008000a3858100008000a3858100008000',
].join('');

/** By name; the sizes are what an attacker would send. */
export const HOSTILE_CONTAINERS: Readonly<Record<string, () => Buffer>> = {
  [ENDLESS]: () => Buffer.from(ENDLESS_MATROSKA, 'hex'),
  'an MP4 whose stts claims 4,294,967,295 entries': () =>
    mp4([{ kind: 'video', tables: { stts: words(0, BILLIONS, 1, 1) } }]),
  'an MP4 whose ctts claims 4,294,967,295 entries': () =>
    mp4([{ kind: 'video', tables: { ctts: words(0, BILLIONS, 1, 1) } }]),
  'an MP4 with 4,294,967,295 samples in one entry of stts': () =>
    mp4([{ kind: 'video', tables: { stts: words(0, 1, BILLIONS, 1), stsz: words(0, 1, BILLIONS) } }]),
  'an MP4 with 4,294,967,295 offsets in one entry of ctts': () =>
    mp4([{ kind: 'video', tables: { stts: words(0, 1, BILLIONS, 1), ctts: words(0, 1, BILLIONS, 5) } }]),
  'an MP4 whose stsz, stsc, stco and stss claim 4,294,967,295 entries': () =>
    mp4([
      {
        kind: 'video',
        tables: {
          stsz: words(0, 0, BILLIONS, 1),
          stsc: words(0, BILLIONS, 1, 1, 1),
          stco: words(0, BILLIONS, 1),
          stss: words(0, BILLIONS, 1),
        },
      },
    ]),
  'an MP4 of PCM with 4,294,967,295 samples': () =>
    mp4([
      {
        kind: 'pcm',
        tables: { stts: words(0, 1, BILLIONS, 1), stsz: words(0, 4, BILLIONS), stsc: words(0, 1, 1, BILLIONS, 1) },
      },
    ]),
  'an MP4 with 5,000 tracks': () => mp4(Array.from({ length: 5_000 }, () => ({ kind: 'video' as const, tables: {} }))),
  'a fragmented MP4 with 4,294,967,295 samples in a fragment': () => fragmented(BILLIONS),
  'an AAC of two million frames': () => adtsFrames(2_000_000),
  'an Ogg of half a million pages': () => oggPages(500_000),
  'a Matroska file of two million blocks': () => matroskaBlocks(2_000_000),
};
