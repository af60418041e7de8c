/**
 * The command line of a media child: Node with the loader that we run under ourselves, in the sandbox where it reads what
 * a stranger made, with the kernel's limits on it.
 */
import os from 'node:os';
import { RUNS_FROM_DIST, packageModule } from '../config/package-root.ts';
import { stepsToGiveWay } from './give-way.ts';
import { inMediaSandbox } from './sandbox.ts';
import type { MediaSandbox } from './sandbox.ts';

/** JavaScript's share of the child's memory: a loader and some objects. */
const CHILD_HEAP_MB = 256;

/** A film of ten minutes in 4096 x 4096 pixels takes half of it to decode. */
export const MAX_CPU_SECONDS = 1800;
/**
 * Beside the bound on resident memory, which says more clearly what happened: what a process may have asked for, as a
 * multiple of that and for Node itself. Decoders ask for more than they touch.
 */
const DATA_FACTOR = 2;
const NODE_DATA_MB = 512;
/** A child writes no file but what a loader keeps in `/tmp`. */
const MAX_FILE_MB = 1;
const MAX_OPEN_FILES = 256;
/** A child has 20; from source its loader, which compiles, has as many again. */
export const MAX_PROCESSES = 64;

/** A shell's word for the end of a program by a signal: this and its number. */
const ENDED_BY_SIGNAL = 128;

/** What is run, and with which bounds. */
interface ChildProgram {
  readonly module: string;
  readonly maxMemoryMb: number;
  readonly maxCpuSeconds?: number;
  readonly readable?: readonly string[];
}

/** @param sandbox undefined: none is needed. */
export function childCommand(program: ChildProgram, sandbox: MediaSandbox | undefined): readonly string[] {
  const module = packageModule(program.module);
  const command = [process.execPath, `--max-old-space-size=${CHILD_HEAP_MB}`, ...loaderOptions(), module];
  if (sandbox === undefined) return command;
  return inMediaSandbox(sandbox, {
    command,
    readable: [module, ...(program.readable ?? [])],
    niceness: stepsToGiveWay(),
    limits: {
      cpuSeconds: program.maxCpuSeconds ?? MAX_CPU_SECONDS,
      dataMb: program.maxMemoryMb * DATA_FACTOR + NODE_DATA_MB,
      fileMb: MAX_FILE_MB,
      openFiles: MAX_OPEN_FILES,
      processes: MAX_PROCESSES,
    },
  });
}

/** What ended a program in the sandbox, as the shell that waited for it says it. */
export function signalInside(code: number | null): NodeJS.Signals | undefined {
  const number = (code ?? 0) - ENDED_BY_SIGNAL;
  const found = Object.entries(os.constants.signals).find(([, value]) => value === number);
  return found?.[0] as NodeJS.Signals | undefined;
}

/**
 * From source our children need the loader that this process runs under, which is a package; nothing else of its options
 * is theirs, and a file that it was started with lies outside of what they see.
 */
function loaderOptions(): string[] {
  if (RUNS_FROM_DIST) return [];
  const options: string[] = [];
  for (const [index, option] of process.execArgv.entries()) {
    const [name = '', joined] = option.split('=', 2);
    if (!/^(--import|--require|-r|--loader)$/.test(name)) continue;
    const value = joined ?? process.execArgv[index + 1] ?? '';
    if (!/^(\.|\/|file:)/.test(value)) options.push(name, value);
  }
  return options;
}
