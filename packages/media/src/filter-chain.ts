/**
 * A chain of FFmpeg's filters with one input and one output: how decoded frames become the requested pixels and
 * samples. Runs in media children only.
 */
import { FFmpegError, Filter, FilterGraph, FilterInOut, Frame } from 'node-av/lib';
import type { FilterContext } from 'node-av/lib';

export class FilterChain {
  readonly #graph: FilterGraph;
  readonly #source: FilterContext;
  readonly #sink: FilterContext;

  private constructor(graph: FilterGraph, source: FilterContext, sink: FilterContext) {
    this.#graph = graph;
    this.#source = source;
    this.#sink = sink;
  }

  /**
   * @param medium which buffer filters are at its ends.
   * @param sourceOptions the format of the input frames, as the `buffer` or `abuffer` filter takes it.
   * @param filters as on the command line of ffmpeg.
   */
  static async open(medium: 'video' | 'audio', sourceOptions: string, filters: string): Promise<FilterChain> {
    const graph = new FilterGraph();
    graph.alloc();
    graph.nbThreads = 1;
    const prefix = medium === 'audio' ? 'a' : '';
    const source = graph.createFilter(getFilter(`${prefix}buffer`), 'in', sourceOptions);
    const sink = graph.createFilter(getFilter(`${prefix}buffersink`), 'out', null);
    if (source === null || sink === null) throw new Error(`FFmpeg does not accept ${sourceOptions}`);
    FFmpegError.throwIfError(graph.parsePtr(filters, createEnd('out', sink), createEnd('in', source)), filters);
    FFmpegError.throwIfError(await graph.config(), filters);
    return new FilterChain(graph, source, sink);
  }

  /** The output for an input frame; `null` flushes the chain. The caller must free the frames. */
  async process(frame: Frame | null): Promise<Frame[]> {
    FFmpegError.throwIfError(await this.#source.buffersrcAddFrame(frame), 'filtering');
    const frames: Frame[] = [];
    for (;;) {
      const out = new Frame();
      out.alloc();
      if ((await this.#sink.buffersinkGetFrame(out)) < 0) {
        out.free();
        return frames;
      }
      frames.push(out);
    }
  }

  close(): void {
    this.#graph.free();
  }
}

function getFilter(name: string): Filter {
  const filter = Filter.getByName(name);
  if (filter === null) throw new Error(`FFmpeg has no filter ${name}`);
  return filter;
}

/** An open end of the chain, by the name that filter chains give it. */
function createEnd(name: string, context: FilterContext): FilterInOut {
  const open = new FilterInOut();
  open.alloc();
  open.name = name;
  open.filterCtx = context;
  open.padIdx = 0;
  return open;
}
