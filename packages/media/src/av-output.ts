/**
 * What all files that we encode have in common: a container, tracks that are fed by their encoders, and no byte that
 * depends on when or where the file was made. Runs in media children only.
 */
import { AVFMT_FLAG_BITEXACT, AVFMT_GLOBALHEADER, AV_CODEC_FLAG_BITEXACT } from 'node-av/constants';
import { AV_CODEC_FLAG_GLOBAL_HEADER, AV_LOG_QUIET } from 'node-av/constants';
import type { FFEncoderCodec } from 'node-av/constants';
import { Codec, CodecContext, Dictionary, FormatContext, Log, Packet } from 'node-av/lib';
import type { Frame, Stream } from 'node-av/lib';
import { requireSuccess } from './av-input.ts';

/** One encoder and its track in the file. */
export interface OutputTrack {
  readonly encoder: CodecContext;
  /** Encodes a frame and writes the output; `null` flushes the encoder. The caller still owns the frame. */
  encode(frame: Frame | null): Promise<void>;
}

export class AvOutput {
  readonly #container = new FormatContext();
  readonly #packet = new Packet();
  readonly #path: string;

  /** @param format FFmpeg's name of the container. */
  constructor(format: string, path: string) {
    Log.setLevel(AV_LOG_QUIET);
    this.#path = path;
    this.#packet.alloc();
    requireSuccess(this.#container.allocOutputContext2(null, format, path), `a container ${format}`);
    this.#container.setFlags(AVFMT_FLAG_BITEXACT);
  }

  /**
   * Adds a track; all tracks must be added before `begin`.
   *
   * @param configure sets what the encoder should produce: size, rate, formats, time base.
   */
  async addTrack(
    encoderName: FFEncoderCodec,
    options: Readonly<Record<string, string>>,
    configure: (encoder: CodecContext, codec: Codec) => void,
  ): Promise<OutputTrack> {
    const codec = Codec.findEncoderByName(encoderName);
    if (codec === null) throw new Error(`FFmpeg has no encoder ${encoderName}`);
    const encoder = new CodecContext();
    encoder.allocContext3(codec);
    configure(encoder, codec);
    encoder.setFlags(AV_CODEC_FLAG_BITEXACT);
    if (this.#container.oformat?.hasFlags(AVFMT_GLOBALHEADER) === true) encoder.setFlags(AV_CODEC_FLAG_GLOBAL_HEADER);
    requireSuccess(await encoder.open2(codec, Dictionary.fromObject({ ...options })), `opening ${encoderName}`);
    const stream = this.#container.newStream(codec);
    stream.timeBase = encoder.timeBase;
    stream.avgFrameRate = encoder.framerate;
    requireSuccess(stream.codecpar.fromContext(encoder), 'describing a track');
    return { encoder, encode: (frame) => this.#encode(encoder, stream, frame) };
  }

  /** Creates the file. @param options of the container. */
  async begin(options: Readonly<Record<string, string>>): Promise<void> {
    requireSuccess(await this.#container.openOutput(), `creating ${this.#path}`);
    requireSuccess(await this.#container.writeHeader(Dictionary.fromObject({ ...options })), 'beginning a file');
  }

  /** Completes the file; the tracks' encoders must have been flushed. */
  async finish(): Promise<void> {
    requireSuccess(await this.#container.writeTrailer(), 'ending a file');
    await this.#container.closeOutput();
  }

  async #encode(encoder: CodecContext, stream: Stream, frame: Frame | null): Promise<void> {
    requireSuccess(await encoder.sendFrame(frame), 'encoding');
    while ((await encoder.receivePacket(this.#packet)) >= 0) {
      this.#packet.streamIndex = stream.index;
      // An encoder with a constant frame rate leaves the duration out, and the last one would be lost.
      if (this.#packet.duration === 0n && encoder.framerate.num > 0) this.#packet.duration = 1n;
      this.#packet.rescaleTs(encoder.timeBase, stream.timeBase);
      requireSuccess(await this.#container.interleavedWriteFrame(this.#packet), 'writing');
    }
  }
}
