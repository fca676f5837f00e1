# SPDX-License-Identifier: MIT
# fish completion for gpumap(1), which answers what may stand at the cursor.

function __gpumap_words
    set -l words (commandline -opc) (commandline -ct)
    set -l command (string replace -r '^~/' "$HOME/" -- $words[1])
    for line in (command $command completion --words fish $words[2..] 2>/dev/null)
        set -l parts (string split ' ' -- $line)
        switch $line
            case ':open'
            case ':program*'
                set -l rest (math $parts[2] + 1)
                complete -C "$(string escape -- $words[$rest..-2] | string join ' ') $words[-1]"
            case ':f*'
                set -l kept (string sub -l $parts[2] -- $words[-1])
                for file in (complete -C "'' "(string sub -s (math $parts[2] + 1) -- $words[-1]))
                    test $parts[1] = :files; or string match -q '*/' -- $file; and echo "$kept$file"
                end
            case '*'
                echo $line
        end
    end
end

complete -c gpumap -f -a '(__gpumap_words)'
