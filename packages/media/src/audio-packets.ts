/**
 * The length of the audio of a container by its packets: what they hold, and not when their container says that they are
 * played. Decoders decode every packet, so that times which lie do not make a recording shorter.
 */
import type { EncodedPacket, InputAudioTrack } from 'mediabunny';
import { AAC_RATES, mpegFrame } from './audio-frames.ts';
import { flacFrameSeconds } from './flac-frames.ts';

/** How many seconds a packet lasts; undefined: that is not known. */
interface Measure {
  /** Whether it reads the data of a packet; without it, the packets of most files need not be read. */
  readonly readsData: boolean;
  of(packet: EncodedPacket): number | undefined;
}

/** Samples of a block by RFC 6716, 3.1, of 48,000 a second: by the configuration in the first byte. */
const OPUS_SAMPLES = [
  ...Array.from({ length: 3 }, () => [480, 960, 1920, 2880]).flat(),
  ...Array.from({ length: 2 }, () => [480, 960]).flat(),
  ...Array.from({ length: 4 }, () => [120, 240, 480, 960]).flat(),
];
/** Decoders reject a packet of more than 120 ms (section 3.4, R5). */
const MAX_OPUS_SAMPLES = 5760;

const opus = ofData((data) => {
  const [first, second = 0] = data;
  if (first === undefined) return undefined;
  const code = first & 3;
  const blocks = code === 0 ? 1 : code === 3 ? second & 63 : 2;
  const samples = (OPUS_SAMPLES[first >> 3] ?? 0) * blocks;
  return samples > 0 && samples <= MAX_OPUS_SAMPLES ? samples / 48_000 : undefined;
});

const mp3 = ofData((data) => {
  const frame = data.length < 4 ? undefined : mpegFrame(data, 0);
  return frame === undefined ? undefined : frame.samples / frame.rate;
});

function ofData(secondsOf: (data: Buffer) => number | undefined): Measure {
  return {
    readsData: true,
    of: ({ data }) => secondsOf(Buffer.from(data.buffer, data.byteOffset, data.byteLength)),
  };
}

function ofSamples(rate: number, samplesOf: (packet: EncodedPacket) => number): Measure {
  return { readsData: false, of: (packet) => samplesOf(packet) / rate };
}

/** ISO/IEC 14496-3, 1.6.2.1: the rate before HE-AAC doubles it. @returns undefined: its blocks have another length. */
function aac(config: Buffer): Measure | undefined {
  if (config.length < 2) return undefined;
  const bits = config.readUInt16BE(0);
  const [type, index] = [bits >> 11, (bits >> 7) & 15];
  const rate = index === 15 && config.length >= 5 ? (config.readUInt32BE(1) >>> 7) & 0xff_ffff : AAC_RATES[index];
  if (![2, 5, 29].includes(type) || rate === undefined) return undefined;
  const isOf960 = type === 2 && index !== 15 && (bits & 4) !== 0;
  return ofSamples(rate, () => (isOf960 ? 960 : 1024));
}

const AC3_SAMPLES = 1536;

async function measureOf(track: InputAudioTrack): Promise<Measure | undefined> {
  const [codec, rate, channels] = [
    await track.getCodec(),
    await track.getSampleRate(),
    await track.getNumberOfChannels(),
  ];
  if (codec === 'opus') return opus;
  if (codec === 'mp3') return mp3;
  if (codec === 'flac') return ofData((data) => flacFrameSeconds(data, 0, rate));
  if (codec === 'ac3') return ofSamples(rate, () => AC3_SAMPLES);
  if (codec === 'aac') {
    const description = (await track.getDecoderConfig())?.description;
    return description === undefined ? undefined : aac(Buffer.from(new Uint8Array(description as ArrayBuffer)));
  }
  const pcmBits = codec === 'ulaw' || codec === 'alaw' ? 8 : /^pcm-[usf](\d+)/.exec(codec ?? '')?.[1];
  if (pcmBits === undefined) return undefined;
  return ofSamples(rate, ({ byteLength }) => (byteLength * 8) / Number(pcmBits) / channels);
}

/** Of 50 minutes of Opus or AAC: they take about a second. A longer recording lasts at least as long as these. */
const MAX_PACKETS = 150_000;

/**
 * @returns the seconds of the first packets, as far as they can be read. Those of a codec that is not known here count
 *   as the container says; that is the codec's for the Vorbis of an Ogg.
 */
export async function countPackets(track: InputAudioTrack): Promise<number> {
  const { EncodedPacketSink } = await import('mediabunny');
  const measure = await measureOf(track);
  let [seconds, count] = [0, 0];
  try {
    const packets = new EncodedPacketSink(track).packets(undefined, undefined, { metadataOnly: !measure?.readsData });
    for await (const packet of packets) {
      const own = measure?.of(packet) ?? Number.NaN;
      seconds += Number.isFinite(own) ? own : packet.duration;
      count += 1;
      if (count === MAX_PACKETS) break;
    }
  } catch {
    // The rest is cut off, or damaged.
  }
  return seconds;
}
