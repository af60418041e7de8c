/**
 * Corrects a balance, up or down, with a reason for the log. With a reference of the dialog's own, so that it is
 * recorded only once.
 */
import { Button, Group, Stack, TextInput } from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import { useState } from 'react';
import type { FormEvent } from 'react';
import { useAdjust } from '../../api/admin.ts';
import type { Account } from '../../api/admin.ts';
import { Dialog } from '../../components/dialog.tsx';
import { formatUsd } from '../../components/money.ts';
import { ErrorState } from '../../components/states.tsx';
import { notify } from '../../components/notify.ts';
import { texts } from '../../texts/admin.ts';
import { texts as common } from '../../texts/common.ts';
import { isAmount, newReference, readAmount } from './amounts.ts';

const { adjust: words } = texts;

export function AdjustDialog({ account, onClose }: { readonly account: Account; readonly onClose: () => void }) {
  const [usd, setUsd] = useState('');
  const [reason, setReason] = useState('');
  const [reference] = useState(newReference);
  const [isTried, setTried] = useState(false);
  const adjust = useAdjust(account.accountId);
  const amount = readAmount(usd);

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setTried(true);
    if (!isAmount(amount, true) || reason.trim() === '') return;
    adjust.mutate(
      { usd: amount, reference, reason: reason.trim() },
      {
        onSuccess() {
          notify(words.done(formatUsd(amount), account.name));
          onClose();
        },
      },
    );
  };
  return (
    <Dialog isOpen title={words.title(account.name)} onClose={onClose}>
      <form onSubmit={submit} noValidate>
        <Stack>
          <TextInput
            label={words.amount}
            description={words.amountHint}
            leftSection="$"
            value={usd}
            onChange={({ currentTarget }) => setUsd(currentTarget.value)}
            error={isTried && !isAmount(amount, true) ? texts.badSignedAmount : undefined}
            required
            data-autofocus
          />
          <TextInput
            label={words.reason}
            description={words.reasonHint}
            value={reason}
            onChange={({ currentTarget }) => setReason(currentTarget.value)}
            error={isTried && reason.trim() === '' ? words.needsReason : undefined}
            maxLength={500}
            required
          />
          {adjust.error === null ? null : <ErrorState error={adjust.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {common.cancel}
            </Button>
            <BusyButton type="submit" isBusy={adjust.isPending}>
              {words.submit}
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
