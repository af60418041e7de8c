/** The secret that signs callbacks: hidden until requested, created, replaced, deleted. */
import { Alert, Button, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { IconAlertTriangle, IconEye, IconEyeOff, IconInfoCircle, IconRefresh, IconTrash } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import { useRotateSigningSecret, useSigningSecret } from '../../api/webhooks.ts';
import type { SigningSecret } from '../../api/webhooks.ts';
import { BusyButton } from '../../components/busy-button.tsx';
import { CopyIcon } from '../../components/copy.tsx';
import { ErrorState, LoadingState } from '../../components/states.tsx';
import { notify, notifyError } from '../../components/notify.ts';
import { Time, formatExact } from '../../components/time.tsx';
import { texts } from '../../texts/webhooks.ts';
import { Section } from '../tasks/section.tsx';
import { DeleteSecretDialog } from './delete-secret-dialog.tsx';
import { RotateSecretDialog } from './rotate-secret-dialog.tsx';
import { SetSecretDialog } from './set-secret-dialog.tsx';

export function SigningSecretSection() {
  const { data: current, error, refetch } = useSigningSecret(true);
  return (
    <Section title={texts.secret.title}>
      {current !== undefined ? (
        <CurrentSecret current={current} />
      ) : error !== null ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : (
        <LoadingState />
      )}
    </Section>
  );
}

function CurrentSecret({ current }: { readonly current: SigningSecret }) {
  const [open, setOpen] = useState<'rotate' | 'set' | 'remove'>();
  const create = useRotateSigningSecret();
  const firstButton = useRef<HTMLButtonElement>(null);
  const hadSecret = useRef(current.hasKey);
  const close = (): void => setOpen(undefined);
  useEffect(() => {
    // The button that deleted it is gone with the secret.
    if (hadSecret.current && !current.hasKey) firstButton.current?.focus();
    hadSecret.current = current.hasKey;
  }, [current.hasKey]);
  const createFirst = (): void =>
    create.mutate(undefined, {
      onSuccess: () => notify(texts.secret.isCreated),
      onError: (error) => notifyError({ message: error.message }),
    });
  return (
    <Stack>
      <Text size="sm">{texts.secret.about}</Text>
      {current.hasKey ? (
        <SecretFields signingSecret={current} />
      ) : (
        <Alert role="status" color="yellow" icon={<IconAlertTriangle aria-hidden />}>
          {texts.secret.none}
        </Alert>
      )}
      <Group gap="xs">
        <BusyButton
          ref={firstButton}
          variant={current.hasKey ? 'default' : 'filled'}
          leftSection={current.hasKey ? <IconRefresh size={16} aria-hidden /> : undefined}
          isBusy={create.isPending}
          onClick={current.hasKey ? () => setOpen('rotate') : createFirst}
        >
          {current.hasKey ? texts.secret.rotate : texts.secret.create}
        </BusyButton>
        <Button variant="default" onClick={() => setOpen('set')}>
          {texts.secret.setOwn}
        </Button>
        {current.hasKey ? (
          <Button variant="default" leftSection={<IconTrash size={16} aria-hidden />} onClick={() => setOpen('remove')}>
            {texts.secret.remove}
          </Button>
        ) : null}
      </Group>
      <RotateSecretDialog isOpen={open === 'rotate'} previousExpires={current.previousExpires ?? 0} onClose={close} />
      <SetSecretDialog isOpen={open === 'set'} onClose={close} />
      <DeleteSecretDialog isOpen={open === 'remove'} onClose={close} />
    </Stack>
  );
}

function SecretFields({ signingSecret }: { readonly signingSecret: SigningSecret }) {
  const { secret = '', whsec = '', created = 0, previousExpires = 0 } = signingSecret;
  const [isShown, setShown] = useState(false);
  const Icon = isShown ? IconEyeOff : IconEye;
  return (
    <>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <SecretField
          label={texts.secret.raw}
          hint={texts.secret.rawHint}
          copy={texts.secret.copyRaw}
          value={secret}
          isShown={isShown}
        />
        <SecretField
          label={texts.secret.whsec}
          hint={texts.secret.whsecHint}
          copy={texts.secret.copyWhsec}
          value={whsec}
          isShown={isShown}
        />
      </SimpleGrid>
      <Group gap="md">
        <Button
          size="xs"
          variant="default"
          leftSection={<Icon size={14} aria-hidden />}
          onClick={() => setShown(!isShown)}
        >
          {isShown ? texts.secret.hide : texts.secret.show}
        </Button>
        <Text size="sm" c="dimmed" component="div">
          {texts.secret.created} <Time seconds={created} />
        </Text>
      </Group>
      <div aria-live="polite">
        {previousExpires === 0 ? null : (
          <Alert color="blue" icon={<IconInfoCircle aria-hidden />}>
            {texts.secret.overlap(formatExact(previousExpires))}
          </Alert>
        )}
      </div>
    </>
  );
}

function SecretField(props: {
  readonly label: string;
  readonly hint: string;
  readonly copy: string;
  readonly value: string;
  readonly isShown: boolean;
}) {
  const { label, hint, copy, value, isShown } = props;
  return (
    <TextInput
      label={label}
      description={hint}
      value={isShown ? value : ''}
      placeholder={`•••••••••••• (${texts.secret.masked})`}
      readOnly
      autoComplete="off"
      spellCheck={false}
      styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
      onFocus={({ currentTarget }) => currentTarget.select()}
      rightSection={<CopyIcon value={value} what={copy} />}
    />
  );
}
