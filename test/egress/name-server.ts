/**
 * A name server on the loopback whose answers a test decides, query by query: what an attacker's own name server can
 * say. Real packets over UDP, and over TCP where an answer says that it was cut short.
 */
import { createSocket } from 'node:dgram';
import type { Socket as UdpSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import type { TestContext } from 'node:test';
import * as dnsPacket from 'dns-packet';
import type { Answer, Packet } from 'dns-packet';
import type { ResolveName } from '../../src/egress/connector.ts';

/** What is said to one query; `silence`: nothing at all. */
export type Reply =
  | 'silence'
  | { readonly answers: readonly Answer[]; readonly code?: number; readonly isCut?: boolean };

/** @param way how the query came. */
export type Decide = (name: string, type: 'A' | 'AAAA', way: 'udp' | 'tcp') => Reply;

export interface NameServer {
  /** Asks this server and no other, as a resolver of the system would: both kinds of address. */
  readonly resolve: ResolveName;
  /** Every query that came, as `A example.test udp`. */
  readonly queries: readonly string[];
}

/** RFC 1035 §4.1.1: the name does not exist. */
export const NXDOMAIN = 3;

/** TTL 0, as those say who want to be asked again. */
export function address(name: string, data: string): Answer {
  return { name, type: data.includes(':') ? 'AAAA' : 'A', ttl: 0, data };
}

export async function startNameServer(test: TestContext, decide: Decide): Promise<NameServer> {
  const queries: string[] = [];

  function replyTo(query: Packet, way: 'udp' | 'tcp'): Packet | undefined {
    const [question] = query.questions ?? [];
    if (question === undefined) return undefined;
    queries.push(`${question.type} ${question.name} ${way}`);
    const reply = decide(question.name, question.type === 'AAAA' ? 'AAAA' : 'A', way);
    if (reply === 'silence') return undefined;
    const cut = reply.isCut === true ? dnsPacket.TRUNCATED_RESPONSE : 0;
    return {
      type: 'response',
      id: query.id ?? 0,
      flags: dnsPacket.RECURSION_DESIRED | dnsPacket.RECURSION_AVAILABLE | cut | (reply.code ?? 0),
      questions: [question],
      answers: [...reply.answers],
    };
  }

  const answerDatagram = (socket: UdpSocket, message: Buffer, peer: { port: number; address: string }): void => {
    const reply = replyTo(dnsPacket.decode(message), 'udp');
    if (reply !== undefined) socket.send(dnsPacket.encode(reply), peer.port, peer.address);
  };
  const answerStream = (socket: Socket): void => {
    socket.on('error', () => undefined);
    socket.once('data', (message: Buffer) => {
      const reply = replyTo(dnsPacket.streamDecode(message), 'tcp');
      if (reply !== undefined) socket.end(dnsPacket.streamEncode(reply));
    });
  };
  const { udp, tcp, port } = await bindBoth();
  udp.on('message', (message, peer) => answerDatagram(udp, message, peer));
  tcp.on('connection', answerStream);
  test.after(() => {
    udp.close();
    tcp.close();
  });

  return { resolve: resolverOf(port), queries };
}

/** One port for both ways: what is free for one may be taken for the other. */
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

function resolverOf(port: number): ResolveName {
  return async (name) => {
    const resolver = new Resolver({ timeout: 2_000, tries: 2 });
    resolver.setServers([`127.0.0.1:${port}`]);
    const kinds = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const found = kinds.flatMap((kind) => (kind.status === 'fulfilled' ? kind.value : []));
    const [failed] = kinds.flatMap((kind) => (kind.status === 'rejected' ? [kind.reason as Error] : []));
    if (found.length === 0 && failed !== undefined) throw failed;
    return found;
  };
}
