/**
 * Determines the client's IP address of a request (contract §7). It is the address of the socket's peer or, if that is
 * a trusted proxy, the right-most address of `X-Forwarded-For` that is not a trusted proxy.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { BlockList } from 'node:net';

/** @returns a function that returns the IP address of a request's client, or `unknown` if its socket is closed. */
export function createClientAddress(trustedProxies: BlockList): (request: IncomingMessage) => string {
  return (request) => {
    let address = unmapIpv4(request.socket.remoteAddress ?? '');
    // An empty entry of a list is none (RFC 9110, §5.6.1).
    const forwarded = (request.headersDistinct['x-forwarded-for'] ?? [])
      .flatMap((value) => value.split(','))
      .filter((entry) => entry.trim() !== '');
    while (isTrusted(trustedProxies, address) && forwarded.length > 0) {
      const next = addressOfEntry(forwarded.pop() ?? '');
      // The proxy does not say which client it served (`unknown`, an obfuscated name), and what is further left may
      // come from anyone: the proxy itself is the nearest that is known.
      if (next === undefined) break;
      address = next;
    }
    return address === '' ? 'unknown' : address;
  };
}

const PORT = /^:\d{1,5}$/;

/**
 * The address of one entry of `X-Forwarded-For`, as common proxies write it: bare, with a port (`192.0.2.1:5678`,
 * `[2001:db8::1]:5678`, `::ffff:192.0.2.1:5678`), in brackets, in double quotes, with blanks.
 *
 * @returns undefined: it has none.
 */
function addressOfEntry(entry: string): string | undefined {
  const trimmed = entry.trim();
  const written = trimmed.startsWith('"') && trimmed.endsWith('"') ? trimmed.slice(1, -1) : trimmed;
  // What looks like the port of an IPv6 address without brackets is its last group,
  if (isIP(written) !== 0) return unmapIpv4(written);
  const colon = written.lastIndexOf(':');
  const host = PORT.test(written.slice(colon)) ? written.slice(0, colon) : written;
  const isBracketed = host.startsWith('[') && host.endsWith(']');
  const address = isBracketed ? host.slice(1, -1) : host;
  // unless the address ends with an IPv4 address.
  return isIP(address) === 4 || (isIP(address) === 6 && (isBracketed || address.includes('.')))
    ? unmapIpv4(address)
    : undefined;
}

/** Whether an IP address belongs to a proxy whose forwarding headers are trusted. */
export function isTrusted(trustedProxies: BlockList, address: string): boolean {
  const version = isIP(address);
  return version !== 0 && trustedProxies.check(address, version === 6 ? 'ipv6' : 'ipv4');
}

/**
 * Returns the key under which limits per IP address count a client: an IPv4 address itself, or the /64 prefix of an
 * IPv6 address, because one subscriber gets at least a /64.
 *
 * @param address as `createClientAddress` returns it.
 */
export function addressBlock(address: string): string {
  if (isIP(address) !== 6) return address;
  const [withoutZone = ''] = address.split('%');
  // The URL parser writes an IPv6 address in its canonical form, including the last four bytes in hexadecimal.
  const [head = '', tail] = new URL(`http://[${withoutZone}]`).hostname.slice(1, -1).split('::');
  const before = head.split(':').filter((part) => part !== '');
  const after = (tail ?? '').split(':').filter((part) => part !== '');
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`;
}

/** Converts an IPv4-mapped IPv6 address, as sockets report it or in any other spelling, to plain IPv4. */
export function unmapIpv4(address: string): string {
  if (isIP(address) !== 6 || address.includes('%')) return address;
  // The URL parser writes every spelling in the same way, with the IPv4 address as two groups.
  const [, high, low] = /^\[::ffff:([0-9a-f]+):([0-9a-f]+)\]$/.exec(new URL(`http://[${address}]`).hostname) ?? [];
  if (high === undefined || low === undefined) return address;
  const bits = [high, low].map((group) => Number.parseInt(group, 16));
  return bits.flatMap((group) => [group >> 8, group & 0xff]).join('.');
}
