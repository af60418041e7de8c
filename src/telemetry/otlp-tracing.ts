/**
 * Records traces and exports them over OTLP. Loaded only where a collector is configured: it brings some 300 modules.
 */
import { createHash } from 'node:crypto';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api';
import type { Attributes, Context, Link, SpanContext } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { TraceConfig } from '../config/connections.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import type { DoneWork, SpanAttributes, Tracing } from './tracing.ts';

/**
 * The time limit of an export, in milliseconds. Spans that were not sent by then are dropped, so that nothing waits
 * longer for a collector.
 */
const EXPORT_TIMEOUT_MS = 5_000;

/** @param role `api` or `worker`. */
export function startTracing({ endpoint, headers, ratio }: TraceConfig, role: string): Tracing {
  const sampler = new TraceIdRatioBasedSampler(ratio);
  const random = new RandomIdGenerator();
  let forced: SpanContext | undefined;
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': `darkroom-${role}`, 'service.namespace': 'darkroom' }),
    sampler: new ParentBasedSampler({ root: sampler }),
    idGenerator: {
      generateTraceId: () => forced?.traceId ?? random.generateTraceId(),
      generateSpanId: () => forced?.spanId ?? random.generateSpanId(),
    },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter({
          url: `${endpoint}/v1/traces`,
          headers: { ...headers },
          timeoutMillis: EXPORT_TIMEOUT_MS,
        }),
      }),
    ],
  });
  const tracer = provider.getTracer('darkroom');

  /** @param as the ids for the span; undefined: new ones. */
  const record = (
    { name, startedAt, attributes, failure }: DoneWork,
    kind: SpanKind,
    parent: Context,
    links: Link[] = [],
    as?: SpanContext,
  ): void => {
    forced = as;
    const span = tracer.startSpan(
      name,
      { kind, startTime: startedAt, attributes: definedOnly(attributes), links },
      parent,
    );
    forced = undefined;
    if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
    span.end();
  };

  const rootOf = (taskId: TaskId): SpanContext => {
    const digest = createHash('sha256').update(taskId).digest('hex');
    const traceId = digest.slice(0, 32);
    const isSampled = sampler.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED;
    const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
    return { traceId, spanId: digest.slice(32, 48), traceFlags, isRemote: true };
  };

  return {
    task(taskId, work) {
      record(work, SpanKind.INTERNAL, below(rootOf(taskId)));
    },

    request(request) {
      const { taskId, isCreation, traceparent } = request;
      const client = readTraceparent(traceparent);
      const links: Link[] = [];
      if (isCreation === true && taskId !== undefined) {
        if (client !== undefined) links.push({ context: client });
        record(request, SpanKind.SERVER, ROOT_CONTEXT, links, rootOf(taskId));
        return;
      }
      if (taskId !== undefined) links.push({ context: rootOf(taskId) });
      record(request, SpanKind.SERVER, client === undefined ? ROOT_CONTEXT : below(client), links);
    },

    async close() {
      // An unavailable collector does not prevent the exit.
      await provider.shutdown().catch(() => undefined);
    },
  };
}

function below(parent: SpanContext): Context {
  return trace.setSpanContext(ROOT_CONTEXT, parent);
}

function definedOnly(attributes: SpanAttributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined)) as Attributes;
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** W3C Trace Context; a malformed header is ignored. */
function readTraceparent(text: string | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
  return { traceId, spanId, traceFlags, isRemote: true };
}
