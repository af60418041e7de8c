/** Where traces are sent (telemetry/tracing.ts): with the names of OpenTelemetry's own variables where they exist. */
import type { EnvironmentReader } from './environment.ts';

export interface TraceConfig {
  /** The URL of a collector that accepts OTLP over HTTP, without a trailing slash. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** 0 to 1. */
  readonly ratio: number;
}

/** @returns undefined if there is no collector. */
export function readTraces(read: EnvironmentReader): TraceConfig | undefined {
  const endpoint = read.text('OTEL_EXPORTER_OTLP_ENDPOINT').replace(/\/+$/, '');
  const ratioText = read.text('TRACE_RATIO');
  const ratio = /^\d*\.?\d+$/.test(ratioText) ? Number(ratioText) : NaN;
  if (!(ratio >= 0 && ratio <= 1)) read.report(`TRACE_RATIO: "${ratioText}" is not a number from 0 to 1`);
  const headers = readHeaders(read);
  if (endpoint === '') return undefined;
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol)) {
    read.report(`OTEL_EXPORTER_OTLP_ENDPOINT: "${endpoint}" is not an http(s) URL`);
  }
  return { endpoint, headers, ratio };
}

function readHeaders(read: EnvironmentReader): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const entry of read.text('OTEL_EXPORTER_OTLP_HEADERS').split(',')) {
    if (entry.trim() === '') continue;
    const [, name, value] = /^\s*([\w!#$%&'*+.^`|~-]+)=(.*?)\s*$/.exec(entry) ?? [];
    // The entry itself is a secret.
    if (name === undefined || value === undefined) {
      read.report('OTEL_EXPORTER_OTLP_HEADERS: want name=value, comma-separated');
    } else {
      headers[name] = decoded(value);
    }
  }
  return headers;
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
