/** A collector of traces, for what processes report about themselves. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly service: string;
  readonly links: readonly { readonly traceId: string }[];
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly failure: string | undefined;
}

export interface TraceCollector {
  readonly url: string;
  readonly spans: Span[];
  /** Everything that was received, unchanged. */
  readonly bodies: string[];
  readonly authorizations: (string | undefined)[];
  close(): void;
}

interface WireValue {
  readonly stringValue?: string;
  readonly intValue?: number | string;
}
interface WireAttribute {
  readonly key: string;
  readonly value: WireValue;
}
interface WireTraces {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly WireAttribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<Span, 'attributes' | 'links'> & {
        readonly attributes: readonly WireAttribute[];
        readonly links?: readonly { readonly traceId: string }[];
        readonly status: { readonly message?: string };
      })[];
    }[];
  }[];
}

const valuesOf = (attributes: readonly WireAttribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));

/** A collector that accepts OTLP as JSON. @param status of its responses. */
export async function startTraceCollector(status = 200): Promise<TraceCollector> {
  const spans: Span[] = [];
  const bodies: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const server: Server = createServer((request, response) => {
    void text(request).then((body) => {
      bodies.push(body);
      authorizations.push(request.headers.authorization);
      for (const { resource, scopeSpans } of (JSON.parse(body) as WireTraces).resourceSpans) {
        const service = String(valuesOf(resource.attributes)['service.name']);
        for (const span of scopeSpans.flatMap((scope) => scope.spans)) {
          const attributes = valuesOf(span.attributes);
          spans.push({ ...span, service, attributes, links: span.links ?? [], failure: span.status.message });
        }
      }
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    bodies,
    authorizations,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
