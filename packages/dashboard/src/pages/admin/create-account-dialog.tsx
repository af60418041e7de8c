/** Creates an account; then its page opens, where a key can be created for it. */
import { Button, Group, Stack, TextInput } from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import { useState } from 'react';
import type { FormEvent } from 'react';
import { useLocation } from 'wouter';
import { useCreateAccount } from '../../api/admin.ts';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorState } from '../../components/states.tsx';
import { notify } from '../../components/notify.ts';
import { texts } from '../../texts/admin.ts';
import { texts as common } from '../../texts/common.ts';
import { isAmount, readAmount } from './amounts.ts';

const { creation: words } = texts;

export function CreateAccountDialog({ onClose }: { readonly onClose: () => void }) {
  const [, navigate] = useLocation();
  const [name, setName] = useState('');
  const [usd, setUsd] = useState('');
  const [isTried, setTried] = useState(false);
  const create = useCreateAccount();
  const amount = readAmount(usd);
  const isNamed = name.trim() !== '';
  const isPaid = amount === '' || isAmount(amount);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setTried(true);
    if (!isNamed || !isPaid) return;
    create.mutate(
      { name: name.trim(), ...(amount === '' ? {} : { usd: amount }) },
      {
        onSuccess(account) {
          notify(words.done(account.name));
          navigate(`/accounts/${account.accountId}/keys`);
        },
      },
    );
  };
  return (
    <Dialog isOpen title={words.title} onClose={onClose}>
      <form onSubmit={submit} noValidate>
        <Stack>
          <TextInput
            label={words.name}
            description={words.nameHint}
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
            error={isTried && !isNamed ? words.needsName : undefined}
            maxLength={100}
            required
            data-autofocus
          />
          <TextInput
            label={words.usd}
            description={words.usdHint}
            leftSection="$"
            inputMode="decimal"
            value={usd}
            onChange={({ currentTarget }) => setUsd(currentTarget.value)}
            error={isTried && !isPaid ? texts.badAmount : undefined}
          />
          {create.error === null ? null : <ErrorState error={create.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {common.cancel}
            </Button>
            <BusyButton type="submit" isBusy={create.isPending}>
              {words.submit}
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
