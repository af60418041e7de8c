/**
 * The system's hosts file, which c-ares does not read. Operators use it together with `EGRESS_ALLOW`, on networks
 * without a name server of their own. Read on the main thread because it is small and the operator's own: reading it
 * elsewhere would need one of the threads that names from clients must not use.
 */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';

const SYSTEM_FILE = process.platform === 'win32' ? String.raw`C:\Windows\System32\drivers\etc\hosts` : '/etc/hosts';

/** The interval at which the file is read again, in milliseconds. */
const REREAD_MS = 5_000;

/** The addresses of `localhost`, whatever the file contains (RFC 6761 §6.3). */
const LOOPBACK = ['127.0.0.1', '::1'];

export interface HostsFile {
  /** All addresses of a name, IPv4 first; none if the file does not list it. @param name in lower case. */
  find(name: string): readonly string[];
}

/** @param now milliseconds, for tests. */
export function createHostsFile(file: string = SYSTEM_FILE, now: () => number = Date.now): HostsFile {
  let names: ReadonlyMap<string, readonly string[]> = new Map();
  let readAt: number | undefined;
  return {
    find(name) {
      if (readAt === undefined || now() - readAt >= REREAD_MS) {
        names = parseHosts(readIfThere(file));
        readAt = now();
      }
      return names.get(name) ?? (name === 'localhost' ? LOOPBACK : []);
    },
  };
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...listed] = (line.split('#')[0] ?? '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of listed.map((each) => each.toLowerCase())) {
      const addresses = names.get(name) ?? [];
      addresses.push(address);
      names.set(
        name,
        addresses.toSorted((one, other) => isIP(one) - isIP(other)),
      );
    }
  }
  return names;
}
