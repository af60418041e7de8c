/** What happens to hosts and between them. */
import assert from 'node:assert/strict';
import type { HostName, Installation } from './installation.ts';
import type { Loss } from './network.ts';
import type { RoleName } from './roles.ts';

export interface Fault {
  /** @returns ends it; undefined if it has ended already. */
  readonly begin: (installation: Installation) => Promise<(() => Promise<void>) | undefined>;
  /** Whether new tasks succeed while it lasts. */
  readonly isSurvived?: boolean;
  /** Whether it is one of distance. */
  readonly needsRouter?: boolean;
}

/** Packets between two hosts are lost. */
export function between(one: HostName, other: HostName, loss: Loss): Fault {
  return {
    async begin({ network, host }) {
      const heal = await network.lose(host(one), host(other), loss);
      return async () => {
        assert.ok((await heal()) > 0, 'the fault affected nothing');
      };
    },
  };
}

/** Packets between two hosts take as long as from another continent. */
export function far(one: HostName, other: HostName): Fault {
  return {
    isSurvived: true,
    needsRouter: true,
    async begin({ network, host }) {
      const heal = await network.separate(host(one), host(other));
      return async () => {
        assert.ok((await heal()) > 0, 'the fault affected nothing');
      };
    },
  };
}

/** A host stands still, and its connections stay. */
export function frozen(name: HostName): Fault {
  return {
    async begin({ host }) {
      await host(name).signal('SIGSTOP');
      return () => host(name).signal('SIGCONT');
    },
  };
}

/** A host is gone, with all it was working on, and nothing closes its connections; later it starts again. */
export function lost(...names: readonly HostName[]): Fault {
  return {
    async begin({ network, host, part }) {
      for (const name of names) {
        await network.unplug(host(name));
        await part(name).kill();
        await host(name).signal('SIGKILL');
      }
      return async () => {
        for (const name of names) await network.plug(host(name));
        await Promise.all(names.map((name) => part(name).start()));
      };
    },
  };
}

/** The same, and new tasks succeed while it lasts. */
export function survived(fault: Fault): Fault {
  return { ...fault, isSurvived: true };
}

/** Hosts are stopped in an orderly way and started, one after the other. */
export function replaced(...names: readonly RoleName[]): Fault {
  return {
    async begin({ part }) {
      for (const name of names) {
        await part(name).stop();
        await part(name).start();
      }
      return undefined;
    },
  };
}
