/**
 * A name server on the loopback whose answers a test decides, query by query: whatever an attacker's own name server
 * can send. Real packets over UDP, and over TCP if an answer was marked as truncated.
 */
import { createSocket } from 'node:dgram';
import type { Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import type { TestContext } from 'node:test';
import * as dnsPacket from 'dns-packet';
import type { Answer, Packet } from 'dns-packet';
import { createNameResolver } from '../../src/egress/name-resolver.ts';
import type { ResolveName } from '../../src/egress/name-resolver.ts';

/** The reply to one query; `silence`: nothing at all; bytes: sent as they are, whatever they mean. */
export type Reply =
  | 'silence'
  | Uint8Array
  | { readonly answers: readonly Answer[]; readonly code?: number; readonly isCut?: boolean };

/** A promise simulates a slow server. @param way how the query came. */
export type Decide = (name: string, type: 'A' | 'AAAA', way: 'udp' | 'tcp') => Reply | Promise<Reply>;

export interface NameServer {
  /** Queries this server and no other. */
  readonly resolve: ResolveName;
  readonly port: number;
  /** Every received query, as `A example.test udp`. */
  readonly queries: readonly string[];
}

/** RFC 1035 §4.1.1: the name does not exist. */
export const NXDOMAIN = 3;

/** TTL 0, like servers that want to be queried again. */
export function address(name: string, data: string): Answer {
  return { name, type: data.includes(':') ? 'AAAA' : 'A', ttl: 0, data };
}

export async function startNameServer(test: TestContext, decide: Decide): Promise<NameServer> {
  const queries: string[] = [];
  let isOver = false;

  async function replyTo(query: Packet, way: 'udp' | 'tcp'): Promise<Packet | Uint8Array | undefined> {
    const [question] = query.questions ?? [];
    if (question === undefined) return undefined;
    queries.push(`${question.type} ${question.name} ${way}`);
    const reply = await decide(question.name, question.type === 'AAAA' ? 'AAAA' : 'A', way);
    if (reply === 'silence') return undefined;
    if (reply instanceof Uint8Array) return reply;
    const cut = reply.isCut === true ? dnsPacket.TRUNCATED_RESPONSE : 0;
    return {
      type: 'response',
      id: query.id ?? 0,
      flags: dnsPacket.RECURSION_DESIRED | dnsPacket.RECURSION_AVAILABLE | cut | (reply.code ?? 0),
      questions: [question],
      answers: [...reply.answers],
    };
  }

  const answerDatagram = async (socket: UdpSocket, message: Buffer, peer: { port: number; address: string }) => {
    const reply = await replyTo(dnsPacket.decode(message), 'udp');
    if (reply === undefined || isOver) return;
    socket.send(reply instanceof Uint8Array ? reply : dnsPacket.encode(reply), peer.port, peer.address);
  };
  const answerQuery = async (socket: Socket, message: Buffer) => {
    const reply = await replyTo(dnsPacket.streamDecode(message), 'tcp');
    if (reply !== undefined) socket.end(reply instanceof Uint8Array ? reply : dnsPacket.streamEncode(reply));
  };
  const answerStream = (socket: Socket): void => {
    socket.on('error', () => undefined);
    socket.once('data', (message: Buffer) => void answerQuery(socket, message));
  };
  const { udp, tcp, port } = await bindBoth();
  udp.on('message', (message, peer) => void answerDatagram(udp, message, peer));
  tcp.on('connection', answerStream);
  test.after(() => {
    isOver = true;
    udp.close();
    tcp.close();
  });

  return { resolve: createNameResolver({ servers: [`127.0.0.1:${port}`] }), queries, port };
}

/** One port for both protocols: a port that is free for one may be taken for the other. */
async function bindBoth(): Promise<{ readonly udp: UdpSocket; readonly tcp: Server; readonly port: number }> {
  for (;;) {
    const udp = createSocket('udp4').bind(0, '127.0.0.1');
    await once(udp, 'listening');
    const { port } = udp.address();
    const tcp = createServer().listen(port, '127.0.0.1');
    try {
      await once(tcp, 'listening');
      return { udp, tcp, port };
    } catch (error) {
      udp.close();
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}
