# SPDX-License-Identifier: MIT
# Completions for three shells. bash and fish look for a file of the name of the command: all are the same one.

dist_bashcompletion_DATA += %D%/bash/ptrace-run
dist_zshcompletion_DATA += %D%/zsh/_ptrace
dist_fishcompletion_DATA += %D%/fish/ptrace-run.fish

install-data-hook:
	for c in $(ptrc_commands) $(ptrc_names_of_start); do c=$${c##*/}; test $$c = ptrace-run || { \
		ln -sf ptrace-run "$(DESTDIR)$(bashcompletiondir)/$$c" && \
		ln -sf ptrace-run.fish "$(DESTDIR)$(fishcompletiondir)/$$c.fish"; } || exit 1; done

uninstall-hook:
	for c in $(ptrc_commands) $(ptrc_names_of_start); do c=$${c##*/}; \
		rm -f "$(DESTDIR)$(bashcompletiondir)/$$c" "$(DESTDIR)$(fishcompletiondir)/$$c.fish"; done
	for c in $(ptrc_names_of_start); do rm -f "$(DESTDIR)$(bindir)/`echo $${c##*/} | sed '$(transform)'`"; done
