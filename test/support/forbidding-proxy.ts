/** Temporal as credentials with few rights see it: a gRPC proxy (plain HTTP/2) that answers some methods itself. */
import { connect, constants, createServer } from 'node:http2';
import type { ServerHttp2Stream, ServerHttp2Session, IncomingHttpHeaders } from 'node:http2';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

const PERMISSION_DENIED = '7';
/** Of one connection between two peers: HTTP/2 does not pass them on (RFC 9113, 8.2.2). */
const HOP_HEADERS = new Set<string>([constants.HTTP2_HEADER_CONNECTION, constants.HTTP2_HEADER_KEEP_ALIVE]);

export interface ForbiddingProxy {
  /** host:port */
  readonly address: string;
  /** Names of gRPC methods that are forbidden from now on: `AddSearchAttributes`. */
  forbid(...methods: readonly string[]): void;
  close(): void;
}

/** @param target host:port of the real server. */
export async function startForbiddingProxy(target: string): Promise<ForbiddingProxy> {
  let forbidden: readonly string[] = [];
  const upstream = connect(`http://${target}`);
  upstream.on('error', () => undefined);
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => undefined);
    session.once('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    const method = headers[':path']?.split('/').at(-1) ?? '';
    if (forbidden.includes(method)) refuse(stream);
    else forward(stream, headers);
  });

  const forward = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void => {
    const request = upstream.request(passedOn(headers));
    request.on('error', () => stream.destroy());
    stream.once('close', () => request.close());
    stream.pipe(request);
    request.once('response', (head) => {
      let trailers: Record<string, unknown> = {};
      request.on('trailers', (late) => (trailers = passedOn(late)));
      stream.respond(passedOn(head), { waitForTrailers: true });
      stream.once('wantTrailers', () => stream.sendTrailers(trailers as Record<string, string>));
      request.pipe(stream);
    });
  };

  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    forbid: (...methods) => (forbidden = methods),
    close: () => {
      for (const session of sessions) session.destroy();
      upstream.destroy();
      server.close();
    },
  };
}

/** An answer without a body, its status among the headers (gRPC's "trailers only"). */
function refuse(stream: ServerHttp2Stream): void {
  const head = { 'content-type': 'application/grpc', 'grpc-status': PERMISSION_DENIED, 'grpc-message': 'not allowed' };
  stream.respond({ ':status': 200, ...head }, { endStream: true });
}

function passedOn(headers: IncomingHttpHeaders): Record<string, string | string[] | undefined> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_HEADERS.has(name)));
}
