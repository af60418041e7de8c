/** Text calls (contract §9): how they end, how soon answers begin, and the tokens that are billed. */
import { Counter, Gauge, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';
import { childrenOf } from './metrics-children.ts';

const FIRST_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** `answered`: complete. `gone`: the client disconnected. `failed`: it broke off on our side. */
export type TextCallEnd = 'answered' | 'gone' | 'failed';

export interface TextMetrics {
  /** An answer has begun, this long after its hold was requested. Not streamed: it is complete. */
  begun(model: string, seconds: number): void;
  /** A stream is open until the returned function is called. */
  streaming(): () => void;
  /** A call is settled. @param tokens that are billed; undefined: none. */
  ended(
    model: string,
    end: TextCallEnd,
    tokens: { readonly inputTokens: number; readonly outputTokens: number } | undefined,
  ): void;
  /** An upstream reported more usage than a request can have, and our own count was billed. */
  usageRejected(upstream: string): void;
  /** An upstream reported a usage that costs this many micro-USD more than was held. */
  exceeded(model: string, microUsd: bigint): void;
}

export function createTextMetrics(registry: Registry): TextMetrics {
  const registers = [registry];
  const calls = new Counter({
    name: 'darkroom_text_calls_total',
    help: 'Text calls by model and outcome: answered, gone (the client disconnected), failed',
    labelNames: ['model', 'outcome'],
    registers,
  });
  const tokens = new Counter({
    name: 'darkroom_text_tokens_total',
    help: 'Billed tokens by model and direction',
    labelNames: ['model', 'direction'],
    registers,
  });
  const excess = new Counter({
    name: 'darkroom_text_hold_exceeded_micro_usd_total',
    help: 'What reported usage cost beyond the holds of its calls, in micro-USD, by model; the operator bears it',
    labelNames: ['model'],
    registers,
  });
  const rejected = new Counter({
    name: 'darkroom_text_usage_rejected_total',
    help: 'Reports of usage beyond what their requests can have used, by upstream; our own counts were billed instead',
    labelNames: ['upstream'],
    registers,
  });
  const first = new Histogram({
    name: 'darkroom_text_first_byte_seconds',
    help: 'From the call to the beginning of its response, by model; if not streamed, to the complete response',
    labelNames: ['model'],
    buckets: FIRST_BUCKETS,
    registers,
  });
  const streams = new Gauge({
    name: 'darkroom_text_streams_open',
    help: 'Streams of text that this process is sending',
    registers,
  });

  const models = childrenOf((model: string) => ({
    first: first.labels({ model }),
    answered: calls.labels({ model, outcome: 'answered' }),
    gone: calls.labels({ model, outcome: 'gone' }),
    failed: calls.labels({ model, outcome: 'failed' }),
    input: tokens.labels({ model, direction: 'input' }),
    output: tokens.labels({ model, direction: 'output' }),
    excess: excess.labels({ model }),
  }));

  return {
    begun: (model, seconds) => models(model).first.observe(seconds),
    streaming() {
      streams.inc();
      return () => streams.dec();
    },
    ended(model, end, billed) {
      const of = models(model);
      of[end].inc();
      if (billed === undefined) return;
      of.input.inc(billed.inputTokens);
      of.output.inc(billed.outputTokens);
    },
    usageRejected: (upstream) => rejected.inc({ upstream }),
    exceeded: (model, microUsd) => models(model).excess.inc(Number(microUsd)),
  };
}
