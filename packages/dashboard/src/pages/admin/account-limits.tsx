/** The name and the limits of an account, editable; only changed values are sent. */
import { Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import { useState } from 'react';
import type { FormEvent } from 'react';
import { useUpdateAccount } from '../../api/admin.ts';
import type { Account, AccountChanges } from '../../api/admin.ts';
import { formatBytes } from '../../components/quantities.ts';
import { ErrorState } from '../../components/states.tsx';
import { notify } from '../../components/notify.ts';
import { texts } from '../../texts/admin.ts';
import { Section } from '../tasks/section.tsx';

const { limits: words } = texts;
type Limit = keyof Account['limits'];
const LIMITS = Object.keys(words.fields) as readonly Limit[];
/** Rates are never 0: an account that must not do anything is suspended. */
const LEAST: Readonly<Partial<Record<Limit, number>>> = {
  createsPerMinute: 1,
  readsPerMinute: 1,
  textRequestsPerMinute: 1,
  textTokensPerMinute: 1,
};

export function AccountLimits({ account }: { readonly account: Account }) {
  const [name, setName] = useState<string>();
  /** As typed; a missing field is unchanged. */
  const [typed, setTyped] = useState<Partial<Record<Limit, string>>>({});
  const update = useUpdateAccount(account.accountId);

  const bad = LIMITS.filter((limit) => !isWhole(typed[limit], LEAST[limit] ?? 0));
  const changed = LIMITS.filter((limit) => {
    const text = typed[limit];
    return text !== undefined && numberOf(text) !== account.limits[limit];
  });
  const isRenamed = name !== undefined && name.trim() !== account.name;
  const isNamed = (name ?? account.name).trim() !== '';
  const isChanged = isRenamed || changed.length > 0;

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!isChanged || bad.length > 0 || !isNamed) return;
    const changes: AccountChanges = {
      ...(isRenamed ? { name: name.trim() } : {}),
      ...(changed.length === 0
        ? {}
        : { limits: Object.fromEntries(changed.map((limit) => [limit, numberOf(typed[limit] ?? '')])) }),
    };
    update.mutate(changes, {
      onSuccess() {
        setName(undefined);
        setTyped({});
        notify(words.done);
      },
    });
  };
  return (
    <Section title={words.title}>
      <form onSubmit={submit} noValidate>
        <Stack>
          <Text size="sm" c="dimmed">
            {words.about}
          </Text>
          <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
            <TextInput
              label={texts.account.rename}
              value={name ?? account.name}
              onChange={({ currentTarget }) => setName(currentTarget.value)}
              error={isNamed ? undefined : texts.creation.needsName}
              maxLength={100}
            />
            {LIMITS.map((limit) => (
              <TextInput
                key={limit}
                label={words.fields[limit][0]}
                description={hintOf(limit, typed[limit] ?? String(account.limits[limit]))}
                inputWrapperOrder={['label', 'input', 'description', 'error']}
                inputMode="numeric"
                value={typed[limit] ?? String(account.limits[limit])}
                onChange={({ currentTarget: { value } }) => setTyped((before) => ({ ...before, [limit]: value }))}
                error={bad.includes(limit) ? words.bad(LEAST[limit] ?? 0) : undefined}
              />
            ))}
          </SimpleGrid>
          {update.error === null ? null : <ErrorState error={update.error} />}
          <Group>
            <BusyButton type="submit" isBusy={update.isPending} disabled={!isChanged || bad.length > 0 || !isNamed}>
              {isChanged ? words.submit : words.unchanged}
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

/** Thousands may be separated: 1,000,000. */
function numberOf(text: string): number {
  return Number(text.replaceAll(/[\s,_]/g, '') || 'none');
}

function isWhole(text: string | undefined, least: number): boolean {
  if (text === undefined) return true;
  const number = numberOf(text);
  return Number.isSafeInteger(number) && number >= least;
}

function hintOf(limit: Limit, text: string): string {
  const number = numberOf(text);
  if (limit === 'persistentBytes' && number >= 0) return formatBytes(number);
  return words.fields[limit][1];
}
