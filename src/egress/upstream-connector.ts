/**
 * How connections to upstreams are made, whose names operators configured. Such a name is resolved by the system, with
 * its hosts file and its search domains. That occupies one of the few threads that `dns.lookup` has in a process, for
 * ten seconds and more if a name server is silent. So one name has one lookup in progress, whatever number of requests
 * waits for it: an upstream whose name is dead occupies one thread and not all of them. docs/decisions/0018.
 */
import { lookup } from 'node:dns';
import type { LookupAddress, LookupOptions } from 'node:dns';
import { buildConnector } from 'undici';
import { deferSocketEnd } from './defer-socket-end.ts';

/** What `net.connect` takes as `lookup`. */
export type Lookup = (name: string, options: LookupOptions, callback: LookupCallback) => void;

type LookupCallback = (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void;

/** Creates a lookup that queries once for all concurrent callers with the same query. @param resolve for tests. */
export function createSharedLookup(resolve: Lookup = lookup): Lookup {
  const underWay = new Map<string, LookupCallback[]>();
  return (name, options, callback) => {
    const key = JSON.stringify([name, options.family, options.hints, options.all, options.order, options.verbatim]);
    const waiting = underWay.get(key);
    if (waiting !== undefined) {
      waiting.push(callback);
      return;
    }
    const callbacks = [callback];
    underWay.set(key, callbacks);
    resolve(name, options, (...answer) => {
      underWay.delete(key);
      for (const each of callbacks) each(...answer);
    });
  };
}

/** One per process, because its threads are shared by the process. */
const sharedLookup = createSharedLookup();

/** Creates a connector for undici whose sockets defer their end. @param timeoutMs to connect, TLS included. */
export function createConnector(timeoutMs: number): buildConnector.connector {
  const connect = buildConnector({ timeout: timeoutMs, lookup: sharedLookup });
  return (options, callback) => {
    connect(options, (...[error, socket]) => {
      if (error === null) callback(null, deferSocketEnd(socket));
      else callback(error, null);
    });
  };
}
