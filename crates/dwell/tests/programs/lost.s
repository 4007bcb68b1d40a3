# Code without call frame information that uses the frame pointer as any other register: nobody can say who called it.
        .globl  spins_lost
        .type   spins_lost, @function
        .text
spins_lost:
        pushq   %rbp
        pushq   %rbx
        movq    %rdi, %rbx
        movq    $1, %rbp
1:      imulq   $13, %rbp, %rbp
        addq    $7, %rbp
        subq    $1, %rbx
        jnz     1b
        movq    %rbp, %rax
        popq    %rbx
        popq    %rbp
        ret
        .size   spins_lost, .-spins_lost
        .section .note.GNU-stack,"",@progbits
