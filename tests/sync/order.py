#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: order.py TABLE SOURCE BUILD <NAMES
Holds the files named in NAMES, and the objects that BUILD has of them, to TABLE (see there).
Prints each fault as one line and then what was looked at; status 1: there are faults."""
import fnmatch
import os
import re
import subprocess
import sys


class Module:
    def __init__(self, line, name, folder, *words, rank):
        self.line, self.name, self.folder, self.rank = line, name, folder, rank
        self.public = words[1:]


class Table:
    """Statements start in the first column; what is indented goes on with the last one."""

    def __init__(self, path):
        self.path, self.modules, self.circles, self.upwards = path, [], [], []
        for line, words in self.statements(path):
            kind, rest = words[0], words[1:]
            if kind == 'module' and (len(rest) == 2 or rest[2:3] == ['public']):
                self.modules.append(Module(line, *rest, rank=len(self.modules)))
            elif kind == 'circle' and 'because' in rest[3:-1]:
                names = rest[1:rest.index('because')]
                self.circles.append((line, frozenset(f'{rest[0]}/{name}' for name in names)))
            elif kind == 'upward' and rest[1:2] == ['->'] and rest[3:4] == ['because'] and rest[4:]:
                self.upwards.append((line, rest[0], rest[2]))
            else:
                sys.exit(f'{path}:{line}: "{" ".join(words)[:60]}" is not a statement')

    @staticmethod
    def statements(path):
        found = []
        for number, text in enumerate(open(path, encoding='utf-8'), 1):
            words = text.split('#')[0].split()
            if words and text[0].isspace() and found:
                found[-1][1].extend(words)
            elif words:
                found.append((number, words))
        return found

    def module(self, file):
        folder = os.path.dirname(file)
        return next((module for module in self.modules if module.folder == folder), None)


class Tree:
    def __init__(self, source, build, files):
        self.source, self.build, self.files = source, build, files
        self.tops = sorted({file.split('/')[0] for file in files})
        self.includes, self.calls, self.objects, self.older = {}, {}, set(), set()
        for file in files:
            self.read_includes(file)
        self.read_objects()

    def path(self, file):
        return os.path.join(self.source, file)

    def text(self, file):
        with open(self.path(file), encoding='utf-8', errors='replace') as stream:
            return stream.read().splitlines()

    def read_includes(self, file):
        """includes[file] = {included: line}, by the places that the makefile has for its folder"""
        top = file.split('/')[0]
        places = [os.path.dirname(file), top, *self.tops, '']
        for number, line in enumerate(self.text(file), 1):
            name = re.match(r'\s*#\s*include\s*["<]([^">]+)', line)
            for place in places if name else ():
                included = os.path.normpath(os.path.join(place, name[1]))
                if included in self.files:
                    self.includes.setdefault(file, {}).setdefault(included, number)
                    break

    def source_of(self, object_file):
        """libgpumap/.libs/prog-text.o is of libgpumap/text.c; None: of nothing that is here"""
        folder, name = os.path.split(os.path.relpath(object_file, self.build)[:-2])
        folder = folder.replace('/.libs', '')
        for stem in (name, name[name.rfind('-') + 1:]):
            for end in ('.c', '.cc', '.cu'):
                if f'{folder}/{stem}{end}' in self.files:
                    return f'{folder}/{stem}{end}'
        return None

    def read_objects(self):
        """calls[file] = {defining file: symbol}; an object that is older than its source is not
        of this build"""
        sources, older = {}, set()
        for folder, _, names in os.walk(self.build):
            for name in names:
                path = os.path.join(folder, name)
                source = self.source_of(path) if name.endswith('.o') else None
                if source and os.path.getmtime(path) >= os.path.getmtime(self.path(source)):
                    sources[path] = source
                elif source:
                    older.add(source)
        self.objects = set(sources.values())
        self.older = older - self.objects
        if not sources:
            return
        listed = subprocess.run(['nm', '-A', '-g', *sources], capture_output=True, text=True,
                                check=True).stdout
        defined, weak, used = {}, {}, set()
        for line in listed.splitlines():
            path, words = line.rsplit(':', 1)[0], line.rsplit(':', 1)[1].split()
            if words[-2] in 'Uwv':
                used.add((sources[path], words[-1]))
            elif words[-2] == 'W':
                weak[words[-1]] = {sources[path]}
            elif words[-1] != 'main':
                defined.setdefault(words[-1], set()).add(sources[path])
        defined.update(weak)  # the program that replaces it is above its users
        for user, symbol in sorted(used):
            for definer in defined.get(symbol, {user}) - {user}:
                if user not in defined[symbol]:
                    self.calls.setdefault(user, {}).setdefault(definer, symbol)

    def line(self, file, symbol):
        for number, text in enumerate(self.text(file), 1):
            if '#include' not in text and re.search(rf'\b{re.escape(symbol)}\b', text):
                return number
        return 1


def circles(edges):
    """The sets of files that reach each other (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges.get(node, ()):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            part = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(part) > 1:
                found.append(frozenset(part))

    sys.setrecursionlimit(10000)
    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


class Check:
    def __init__(self, table, tree):
        self.table, self.tree, self.faults = table, tree, []
        self.used, self.upward_count = set(), 0

    def fault(self, file, line, text):
        self.faults.append(f'{file}:{line}: {text}')

    def stale(self, line, text):
        self.fault(self.table.path, line, text)

    def excepted(self, user, other):
        for line, first, second in self.table.upwards:
            if fnmatch.fnmatch(user, first) and fnmatch.fnmatch(other, second):
                self.used.add(line)
                self.upward_count += 1
                return True
        return False

    def homes(self):
        for file in sorted(self.tree.files):
            if not self.table.module(file):
                self.fault(file, 1, f'its folder is in no module; add it to {self.table.path}')

    def edges(self, edges, line_of, verb):
        for user in sorted(edges):
            for other in sorted(edges[user]):
                here, there = self.table.module(user), self.table.module(other)
                if not here or not there or here == there:
                    continue
                if there.rank > here.rank and not self.excepted(user, other):
                    self.fault(user, line_of(user, other),
                               f'{here.name} {verb(user, other)} of {there.name}, which is above'
                               ' it; move what both need below, or the caller up')
                name = os.path.basename(other)
                if name.endswith(('.h', '.def', '.cuh')) and name not in there.public:
                    self.fault(user, line_of(user, other),
                               f'{other} is private to {there.name}; include a public header of'
                               f' it, or make it public in {self.table.path}')

    def rings(self, edges, line_of, what):
        for ring in circles(edges):
            if any(ring <= files for _, files in self.table.circles):
                continue
            user = min(ring)
            other = min(set(edges[user]) & ring)
            folders = {os.path.dirname(file) for file in ring}
            close = [files for _, files in self.table.circles if files & ring]
            remedy = ('move what ties them into a file below' if len(folders) > 1 else
                      f'it is not the circle in {self.table.path}: cut what is new, or state what'
                      ' is left' if close else
                      'move what ties them into a file below, or merge what is one thing')
            self.fault(user, line_of(user, other),
                       f'a circle of {what}: {" ".join(sorted(ring))}; {remedy}')

    def old_statements(self):
        """What the table allows and nothing needs any more."""
        rings = circles(self.tree.includes) + circles(self.tree.calls)
        looked_at = self.tree.objects | {file for file in self.tree.files if file.endswith('.h')}
        for line, files in self.table.circles:
            held = any(files <= ring for ring in rings) or not files <= looked_at
            if not files <= self.tree.files or not held:
                self.stale(line, 'there is no such circle any more; remove it, or state the rest')
        for line, first, second in self.table.upwards:
            known = any(fnmatch.fnmatch(file, first) for file in self.tree.objects)
            if line not in self.used and (known or not fnmatch.filter(self.tree.files, first)
                                          or second.endswith('.h')):
                self.stale(line, f'nothing of {first} needs {second} any more; remove this')
        outside = {other for user, others in self.tree.includes.items() for other in others
                   if self.table.module(user) != self.table.module(other)}
        for module in self.table.modules:
            for name in module.public:
                if f'{module.folder}/{name}' not in outside:
                    self.stale(module.line, f'no other module includes {name} of {module.name};'
                               ' remove it from its public headers')
            if not fnmatch.filter(self.tree.files, f'{module.folder}/*'):
                self.stale(module.line, f'{module.folder} has no file; remove the module')

    def build(self):
        """Most objects must be of these sources; those that this build has no use for may be old."""
        objects, older = len(self.tree.objects), len(self.tree.older)
        if objects <= older:
            self.fault(self.tree.build, 1, f'{objects} sources have an object, and {older} an older'
                       ' one, so calls cannot be checked; run make first')

    def run(self):
        tree = self.tree
        included = lambda user, other: tree.includes[user][other]
        called = lambda user, other: tree.line(user, tree.calls[user][other])
        name = os.path.basename
        self.build()
        self.homes()
        self.edges(tree.includes, included, lambda user, other: f'includes {name(other)}')
        self.edges(tree.calls, called, lambda user, other: f'uses {tree.calls[user][other]}')
        self.rings(tree.includes, included, 'includes')
        self.rings(tree.calls, called, 'calls')
        self.old_statements()


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    table = Table(sys.argv[1])
    folders = {module.folder.split('/')[0] for module in table.modules}
    files = {name for name in sys.stdin.read().split('\n')
             if name.split('/')[0] in folders and re.search(r'\.(c|h|cc|cu|cuh|def)$', name)}
    tree = Tree(sys.argv[2], sys.argv[3], files)
    check = Check(table, tree)
    check.run()
    print(*check.faults, sep='\n', end='\n' if check.faults else '')
    print(f'{len(files)} files and the objects of {len(tree.objects)} in {len(table.modules)} modules;'
          f' allowed: {len(table.circles)} circles of'
          f' {sum(len(ring) for _, ring in table.circles)} files, {check.upward_count} ways upwards')
    return bool(check.faults)


if __name__ == '__main__':
    sys.exit(main())
