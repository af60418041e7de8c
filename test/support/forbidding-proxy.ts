/** Temporal as credentials with few rights see it: a gRPC proxy (HTTP/2) that answers some methods itself. */
import { connect, constants, createSecureServer, createServer } from 'node:http2';
import type {
  ClientHttp2Session,
  IncomingHttpHeaders,
  SecureServerOptions,
  ServerHttp2Session,
  ServerHttp2Stream,
} from 'node:http2';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { TestCertificate } from './test-certificate.ts';

const PERMISSION_DENIED = '7';
const UNAUTHENTICATED = '16';
/** Headers of a single connection between two peers: HTTP/2 does not forward them (RFC 9113, 8.2.2). */
const HOP_HEADERS = new Set<string>([constants.HTTP2_HEADER_CONNECTION, constants.HTTP2_HEADER_KEEP_ALIVE]);

export interface ForbiddingProxy {
  /** host:port */
  readonly address: string;
  /** Names of gRPC methods that are forbidden from now on: `AddSearchAttributes`. */
  forbid(...methods: readonly string[]): void;
  close(): void;
}

/** The credentials that it accepts; all PEM. */
export interface Access {
  readonly server: TestCertificate;
  /** The authority that client certificates have to be signed by. */
  readonly clientCa: string;
  readonly apiKey: string;
}

/**
 * @param target host:port of the real server.
 * @param access if present, the proxy uses TLS.
 */
export async function startForbiddingProxy(target: string, access?: Access): Promise<ForbiddingProxy> {
  let forbidden: readonly string[] = [];
  let upstream: ClientHttp2Session | undefined;
  /** Temporal ends a connection that was idle for some minutes. */
  const connected = (): ClientHttp2Session => {
    if (upstream === undefined || upstream.closed || upstream.destroyed) {
      upstream = connect(`http://${target}`);
      upstream.on('error', () => undefined);
    }
    return upstream;
  };
  const sessions = new Set<ServerHttp2Session>();
  const server = access === undefined ? createServer() : createSecureServer(secureOptions(access));
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => undefined);
    session.once('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    const method = headers[':path']?.split('/').at(-1) ?? '';
    if (access !== undefined && headers.authorization !== `Bearer ${access.apiKey}`) reject(stream, UNAUTHENTICATED);
    else if (forbidden.includes(method)) reject(stream, PERMISSION_DENIED);
    else forward(stream, headers);
  });

  const forward = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void => {
    const request = connected().request(passedOn(headers));
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
      upstream?.destroy();
      server.close();
    },
  };
}

function secureOptions({ server, clientCa }: Access): SecureServerOptions {
  return { ...server, ca: clientCa, requestCert: true, rejectUnauthorized: true };
}

/** A response without a body, with its status among the headers (gRPC's "trailers only"). */
function reject(stream: ServerHttp2Stream, status: string): void {
  const head = { 'content-type': 'application/grpc', 'grpc-status': status, 'grpc-message': 'not allowed' };
  stream.respond({ ':status': 200, ...head }, { endStream: true });
}

function passedOn(headers: IncomingHttpHeaders): Record<string, string | string[] | undefined> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_HEADERS.has(name)));
}
