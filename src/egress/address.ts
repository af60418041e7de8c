/**
 * Classifies a host as an IP address, in any of its formats, or a name, and determines whether an address is public.
 * Separate from the connector so that the create call can reject a literal address without connecting (contract §2
 * `callback.url`).
 *
 * A public address is what `ipaddr.js` calls unicast, minus what it misses: Azure's wire server, and IPv6 outside
 * 2000::/3, the only space that is assigned (it calls `::7f00:1` unicast). That also rejects every form that carries
 * an IPv4 address inside an IPv6 one: mapped, compatible and NAT64 ones lie outside 2000::/3; 6to4 and Teredo are
 * ranges.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** An address, parsed. */
export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;

/** The kind of a URL's host. An address is in its canonical format, a name in lower case, without a dot at its end. */
export type Host =
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'invalid' };

/** Responds to every virtual machine of Azure, with secrets of the machine; registered as public space. */
const AZURE_WIRE_SERVER = '168.63.129.16';

/** IANA assigns global unicast addresses from 2000::/3 only. */
const ASSIGNED_IPV6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

/** Letters, digits, inner hyphens, and the underscore that real receivers use. */
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** A last label that the resolvers of some systems read as part of an IPv4 address. */
const NUMERIC_LABEL = /^(?:\d+|0x[\da-f]*)$/;

/** 253: the longest name that fits DNS. */
const MAX_NAME_LENGTH = 253;

/**
 * Reads a host as the widest resolver would: dotted, decimal, octal, hexadecimal and shortened IPv4, bracketed and
 * bare IPv6, with or without a final dot.
 *
 * @param host of a URL or a configuration entry, without port.
 * @returns `invalid` for zone ids, for numbers that are not an address, and for anything that is not a DNS name.
 */
export function readHost(host: string): Host {
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  if (bare.includes(':')) {
    if (bare.includes('%') || isIP(bare) !== 6) return { kind: 'invalid' };
    return { kind: 'address', address: canonical(ipaddr.parse(bare)) };
  }

  const name = (bare.endsWith('.') ? bare.slice(0, -1) : bare).toLowerCase();
  const labels = name.split('.');
  if (NUMERIC_LABEL.test(labels.at(-1) ?? '')) {
    return ipaddr.IPv4.isValid(name)
      ? { kind: 'address', address: canonical(ipaddr.IPv4.parse(name)) }
      : { kind: 'invalid' };
  }

  const isName = name.length <= MAX_NAME_LENGTH && labels.every((label) => LABEL.test(label));
  return isName ? { kind: 'name', name } : { kind: 'invalid' };
}

/**
 * Parses an address as resolvers and sockets report it: dotted decimal or IPv6.
 *
 * @returns undefined for any other format, and for one with a zone id, which only names a link of this machine.
 */
export function parseAddress(address: string): IpAddress | undefined {
  if (isIP(address) === 0 || address.includes('%')) return undefined;
  return ipaddr.parse(address);
}

/** Whether two strings are the same address. */
export function isSameAddress(one: string, other: string | undefined): boolean {
  const parsedOne = parseAddress(one);
  const parsedOther = other === undefined ? undefined : parseAddress(other);
  return parsedOne !== undefined && parsedOther !== undefined && canonical(parsedOne) === canonical(parsedOther);
}

/**
 * Whether an address belongs to the public internet. Anything that cannot be parsed does not.
 *
 * @param address dotted decimal or IPv6; other formats go through `readHost` first.
 */
export function isPublicAddress(address: string): boolean {
  const parsed = parseAddress(address);
  if (parsed === undefined || parsed.range() !== 'unicast') return false;
  if (parsed instanceof ipaddr.IPv6) return parsed.match(ASSIGNED_IPV6);
  return parsed.toString() !== AZURE_WIRE_SERVER;
}

function canonical(address: IpAddress): string {
  return address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString();
}
