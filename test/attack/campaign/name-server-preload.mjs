/**
 * Loaded into the api and the workers of an attack campaign (`node --import`): names that clients chose are asked of the
 * campaign's own name server, `ATTACK_NAME_SERVER`, and of no other.
 */
import dns from 'node:dns/promises';
import { syncBuiltinESMExports } from 'node:module';
import process from 'node:process';

const { ATTACK_NAME_SERVER: server } = process.env;

if (server !== undefined) {
  const { Resolver } = dns;
  dns.Resolver = class extends Resolver {
    constructor(...options) {
      super(...options);
      this.setServers([server]);
    }
  };
  syncBuiltinESMExports();
}
